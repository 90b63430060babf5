// SPDX-License-Identifier: Apache-2.0
// All threads but one poll for data that one thread prepares for a long time.
#include "disease.h"

static int is_prepared;

int main(void) {
    calibrate();
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            compute_us(300e3);
            __atomic_store_n(&is_prepared, 1, __ATOMIC_RELEASE);
        } else {
            while (!__atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield // DISEASE
            }
        }
        compute_us(300e3);
    }
    return 0;
}
