// SPDX-License-Identifier: Apache-2.0
// Two sections, one of which takes four times as long. Cured: both take the same time.
#include "disease.h"

int main(void) {
#ifdef CURED
    const double first_us = 300e3;
#else
    const double first_us = 480e3;
#endif
    calibrate();
#pragma omp parallel
    {
#pragma omp sections // DISEASE
        {
#pragma omp section
            compute_us(first_us);
#pragma omp section
            compute_us(600e3 - first_us);
        }
    }
    return 0;
}
