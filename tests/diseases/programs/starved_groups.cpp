// SPDX-License-Identifier: Apache-2.0
// Groups of tasks with a long narrow phase: two tasks that follow each other, then a wide fan.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 50; round++) {
#pragma omp taskgroup // DISEASE
        {
#pragma omp task
            compute_us(8e3);
        }
#pragma omp taskgroup
        {
            for (int i = 0; i < 32; i++) {
#pragma omp task
                compute_us(200);
            }
        }
    }
}
