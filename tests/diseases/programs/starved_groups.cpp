// SPDX-License-Identifier: Apache-2.0
// Groups of tasks with a long narrow phase: one task, then a wide fan. Cured: nothing
// waits between them.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 50; round++) {
#ifndef CURED
#pragma omp taskgroup // DISEASE
#endif
        {
#pragma omp task
            compute_us(8e3);
        }
#ifndef CURED
#pragma omp taskgroup // DISEASE
#endif
        {
            for (int i = 0; i < 32; i++) {
#pragma omp task
                compute_us(200);
            }
        }
    }
}
