// SPDX-License-Identifier: Apache-2.0
// Two sections, one of which takes four times as long.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
    {
#pragma omp sections // DISEASE
        {
#pragma omp section
            compute_us(480e3);
#pragma omp section
            compute_us(120e3);
        }
    }
    return 0;
}
