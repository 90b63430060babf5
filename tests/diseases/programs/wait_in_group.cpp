// SPDX-License-Identifier: Apache-2.0
// Each task is in its own taskgroup. Cured: all are in one.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
#ifdef CURED
#pragma omp taskgroup
#endif
    for (int i = 0; i < 1000; i++) {
#ifndef CURED
#pragma omp taskgroup // DISEASE
#endif
        {
#pragma omp task
            compute_us(500);
        }
    }
}
