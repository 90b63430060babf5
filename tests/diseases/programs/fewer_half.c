// SPDX-License-Identifier: Apache-2.0
// A region for half of the threads, as if they shared cores. Cured: for all.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
    const int n = omp_get_max_threads();
#else
    const int n = (omp_get_max_threads() + 1) / 2;
#endif
#pragma omp parallel for schedule(dynamic, 4) num_threads(n) // DISEASE
    for (int i = 0; i < 2000; i++) compute_us(300);
    return 0;
}
