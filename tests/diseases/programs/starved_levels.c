// SPDX-License-Identifier: Apache-2.0
// Two levels of one task follow each level of eight; each level waits for the one before. Cured: none waits.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int level = 0; level < 60; level++) {
        const int n = level % 3 == 0 ? 8 : 1;
        for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(n)
            compute_us(n == 1 ? 6e3 : 12e3 / n);
        }
#ifndef CURED
#pragma omp taskwait // DISEASE
#endif
    }
    return 0;
}
