// SPDX-License-Identifier: Apache-2.0
// A taskwait after the creation of each task. Cured: after the loop.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task
        compute_us(400);
#ifndef CURED
#pragma omp taskwait // DISEASE
#endif
    }
    return 0;
}
