// SPDX-License-Identifier: Apache-2.0
// A parallel loop of a few microseconds, entered again and again. Cured: one region around all loops, and
// no barriers.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
#pragma omp parallel
#endif
    for (int step = 0; step < 120000; step++) {
#ifdef CURED
#pragma omp for nowait
#else
        if (!go_on()) break;
#pragma omp parallel for // DISEASE
#endif
        for (int i = 0; i < 64; i++) compute_us(0.1);
    }
    return 0;
}
