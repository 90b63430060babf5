// SPDX-License-Identifier: Apache-2.0
// Tasks that enter a critical section for a moment.
#include "disease.h"

int main() {
    double total = 0.0;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 2000; i++) {
#pragma omp task shared(total)
        {
            compute_us(350);
#pragma omp critical
            total += 1.0;
        }
    }
    return total < 0.0;
}
