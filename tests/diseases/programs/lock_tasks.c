// SPDX-License-Identifier: Apache-2.0
// Tasks that hold or await one lock for most of their time. Cured: 64 locks.
#include "disease.h"

int main(void) {
#ifdef CURED
    enum { kLocks = 64 };
#else
    enum { kLocks = 1 };
#endif
    static omp_lock_t locks[kLocks];
    calibrate();
    for (int i = 0; i < kLocks; i++) omp_init_lock(&locks[i]);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task
        {
            compute_us(100);
            omp_set_lock(&locks[i % kLocks]); // DISEASE
            compute_us(350);
            omp_unset_lock(&locks[i % kLocks]);
        }
    }
    for (int i = 0; i < kLocks; i++) omp_destroy_lock(&locks[i]);
    return 0;
}
