// SPDX-License-Identifier: Apache-2.0
// A cut-off above the depth: no task is created, and one thread does everything. Cured: a lower
// cut-off.
#include "disease.h"

static void walk(int depth, int cutoff) {
    if (depth == 0) {
        compute_us(1000);
        return;
    }
    if (depth > cutoff) {
#pragma omp task
        walk(depth - 1, cutoff);
#pragma omp task
        walk(depth - 1, cutoff);
#pragma omp taskwait
    } else {
        walk(depth - 1, cutoff);
        walk(depth - 1, cutoff);
    }
}

int main(void) {
#ifdef CURED
    const int cutoff = 1;
#else
    const int cutoff = 12;
#endif
    calibrate();
#pragma omp parallel // DISEASE
#pragma omp single
    walk(9, cutoff);
    return 0;
}
