// SPDX-License-Identifier: Apache-2.0
// One thread prepares for most of the region, and then creates all tasks. Cured: it prepares in tasks, too.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    {
#ifdef CURED
        for (int i = 0; i < 350; i++) {
#pragma omp task
            compute_us(1000);
        }
#pragma omp taskwait
#else
        compute_us(350e3);
#endif
        for (int i = 0; i < 400; i++) {
#pragma omp task // DISEASE
            compute_us(1000);
        }
    }
}
