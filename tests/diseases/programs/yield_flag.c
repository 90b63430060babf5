// SPDX-License-Identifier: Apache-2.0
// All threads but one poll for data that one thread prepares for a long time. Cured: all threads prepare.
#include "disease.h"

static int is_prepared;

int main(void) {
    calibrate();
#pragma omp parallel
    {
        const int n = omp_get_num_threads();
#ifdef CURED
        compute_us(300e3 / n);
#else
        if (omp_get_thread_num() == 0) {
            compute_us(300e3);
            __atomic_store_n(&is_prepared, 1, __ATOMIC_RELEASE);
        } else {
            while (!__atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield // DISEASE
            }
        }
#endif
        compute_us(600e3 / n);
    }
    return 0;
}
