// SPDX-License-Identifier: Apache-2.0
// Each task is in its own taskgroup.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1000; i++) {
#pragma omp taskgroup // DISEASE
        {
#pragma omp task
            compute_us(500);
        }
    }
}
