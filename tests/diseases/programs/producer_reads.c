// SPDX-License-Identifier: Apache-2.0
// Before each creation of a task, the only producer computes for longer than a task takes. Cured: the task does
// all.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 2000; i++) {
#ifdef CURED
        const double before_us = 0;
#else
        const double before_us = 250;
#endif
        compute_us(before_us);
#pragma omp task // DISEASE
        compute_us(350 - before_us);
    }
    return 0;
}
