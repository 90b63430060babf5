// SPDX-License-Identifier: Apache-2.0
// One long region with a barrier after every few microseconds of work.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
    for (int i = 0; i < 80000; i++) {
        compute_us(1.5);
#pragma omp barrier // DISEASE
    }
    return 0;
}
