// SPDX-License-Identifier: Apache-2.0
// Before each creation of a task, the only producer computes for longer than a task takes.
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
