// SPDX-License-Identifier: Apache-2.0
// Every thread computes its own part, without a loop construct; the first part is the largest. Cured: all
// parts are equal.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel // DISEASE
    {
        const int n = omp_get_num_threads();
#ifdef CURED
        const double share = 1.0 / n;
#else
        const double share = n == 1 ? 1.0 : omp_get_thread_num() == 0 ? 0.75 : 0.25 / (n - 1);
#endif
        for (int step = 0; step < 100; step++) {
            compute_us(6e3 * share);
#pragma omp barrier
        }
    }
    return 0;
}
