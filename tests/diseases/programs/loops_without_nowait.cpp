// SPDX-License-Identifier: Apache-2.0
// One region runs many work-sharing loops, each of less than a microsecond and with a barrier. Cured: nowait.
#include "disease.h"

int main() {
    calibrate();
    volatile int n_steps = 200000;
#pragma omp parallel
    for (int step = 0; step < n_steps; step++) { // after a barrier, all threads see earlier writes
#ifndef CURED
        if (omp_get_thread_num() == 0 && step + 1 < n_steps && !go_on()) n_steps = step + 1;
#endif
#ifdef CURED
#pragma omp for schedule(static) nowait
#else
#pragma omp for schedule(static) // DISEASE
#endif
        for (int i = 0; i < 32; i++) compute_us(0.05);
    }
}
