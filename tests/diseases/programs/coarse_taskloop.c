// SPDX-License-Identifier: Apache-2.0
// A taskloop that creates one task more than the team has threads. Cured: 20 tasks per thread.
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
#pragma omp taskloop num_tasks(n) // DISEASE
    for (int i = 0; i < 1000; i++) compute_us(700);
    return 0;
}
