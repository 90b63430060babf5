// SPDX-License-Identifier: Apache-2.0
// Four times as many threads as processors, and barriers at which they wait for each other. Cured: a thread per
// processor.
#include "disease.h"

int main(void) {
#ifdef CURED
    const int n = omp_get_num_procs();
#else
    const int n = 4 * omp_get_num_procs();
#endif
    calibrate();
#pragma omp parallel num_threads(n) // DISEASE
    for (int step = 0; step < 400; step++) {
        compute_us(1600.0 / n);
#pragma omp barrier
    }
    return 0;
}
