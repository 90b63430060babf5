// SPDX-License-Identifier: Apache-2.0
// A region inside a region, each with one thread more than processors; the threads wait for each other at loops.
#include "disease.h"

int main() {
    calibrate();
    omp_set_max_active_levels(2);
    const int n = omp_get_num_procs() + 1;
#pragma omp parallel num_threads(n) // DISEASE
#pragma omp parallel num_threads(n)
    for (int step = 0; step < 150; step++) {
#pragma omp for schedule(static)
        for (int i = 0; i < 90; i++) compute_us(8);
    }
}
