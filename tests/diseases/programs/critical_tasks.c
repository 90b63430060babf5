// SPDX-License-Identifier: Apache-2.0
// Tasks that spend three quarters of their time in one critical section.
#include "disease.h"

int main(void) {
    double total = 0.0;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task shared(total)
        {
            compute_us(100);
#pragma omp critical(totals) // DISEASE
            {
                compute_us(350);
                total += 1.0;
            }
        }
    }
    return total < 0.0;
}
