// SPDX-License-Identifier: Apache-2.0
// One task more than threads, all of one length: one thread works twice as long.
#include "disease.h"

int main(void) {
    calibrate();
    const int n = omp_get_max_threads() + 1;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task // DISEASE
        compute_us(700e3 / n);
    }
    return 0;
}
