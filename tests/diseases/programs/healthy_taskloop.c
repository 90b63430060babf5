// SPDX-License-Identifier: Apache-2.0
// A taskloop that creates tasks of a fair size.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
#pragma omp taskloop num_tasks(50 * omp_get_num_threads())
    for (int i = 0; i < 8000; i++) compute_us(100);
    return 0;
}
