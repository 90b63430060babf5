// SPDX-License-Identifier: Apache-2.0
// One task more than threads, all of one length: one thread works twice as long. Cured: 20 tasks per thread.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
    const int n = 20 * omp_get_max_threads();
#else
    const int n = omp_get_max_threads() + 1;
#endif
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task // DISEASE
        compute_us(700e3 / n);
    }
    return 0;
}
