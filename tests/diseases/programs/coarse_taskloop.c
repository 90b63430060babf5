// SPDX-License-Identifier: Apache-2.0
// A taskloop of a thousand iterations in three tasks for two threads.
#include "disease.h"

int main(void) {
    calibrate();
    const int n = omp_get_max_threads() + 1;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop num_tasks(n) // DISEASE
    for (int i = 0; i < 1000; i++) compute_us(700);
    return 0;
}
