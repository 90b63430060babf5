// SPDX-License-Identifier: Apache-2.0
// A region inside a region, each with one thread more than processors; the threads wait for each other at loops.
// Cured: one level, and as many threads as processors.
#include "disease.h"

int main() {
    calibrate();
#ifdef CURED
    omp_set_max_active_levels(1);
    const int outer = 1, n = omp_get_num_procs();
#else
    omp_set_max_active_levels(2);
    const int outer = omp_get_num_procs() + 1, n = outer;
#endif
#pragma omp parallel num_threads(outer) // DISEASE
#pragma omp parallel num_threads(n)
    for (int step = 0; step < 450 / outer; step++) {
#pragma omp for schedule(static)
        for (int i = 0; i < 90; i++) compute_us(8);
    }
}
