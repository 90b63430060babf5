// SPDX-License-Identifier: Apache-2.0
// A loop whose iterations enter an unnamed critical section for most of their time. Cured: a reduction.
#include "disease.h"

int main() {
    double total = 0.0;
    calibrate();
#ifdef CURED
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : total)
#else
#pragma omp parallel for schedule(dynamic, 4)
#endif
    for (int i = 0; i < 4000; i++) {
        compute_us(40);
#ifndef CURED
#pragma omp critical // DISEASE
#endif
        {
            compute_us(120);
            total += 1.0;
        }
    }
    return total < 0.0;
}
