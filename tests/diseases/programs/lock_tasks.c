// SPDX-License-Identifier: Apache-2.0
// Tasks that share one lock for most of their time.
#include "disease.h"

int main(void) {
    static omp_lock_t lock;
    calibrate();
    omp_init_lock(&lock);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1500; i++) {
#pragma omp task
        {
            compute_us(100);
            omp_set_lock(&lock); // DISEASE
            compute_us(350);
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    return 0;
}
