// SPDX-License-Identifier: Apache-2.0
// Tasks that spend three quarters of their time in one critical section. Cured: they only add there.
#include "disease.h"

int main(void) {
    double total = 0.0;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task shared(total)
        {
#ifdef CURED
            const double inside_us = 0;
#else
            const double inside_us = 350;
#endif
            compute_us(450 - inside_us);
#pragma omp critical(totals) // DISEASE
            {
                compute_us(inside_us);
                total += 1.0;
            }
        }
    }
    return total < 0.0;
}
