// SPDX-License-Identifier: Apache-2.0
// One thread computes for a while before it creates each of the tasks, which are shorter.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 2000; i++) {
        compute_us(250);
#pragma omp task // DISEASE
        compute_us(100);
    }
    return 0;
}
