// SPDX-License-Identifier: Apache-2.0
// One thread prepares each step, and the others watch a flag until it is done. Cured: all of them prepare.
#include "disease.h"

int main(void) {
    int prepared = 0;
    calibrate();
#pragma omp parallel // DISEASE
    {
        const int n = omp_get_num_threads(), me = omp_get_thread_num();
        for (int step = 1; step <= 60; step++) {
#ifdef CURED
            compute_us(6e3 / n);
#else
            if (me == 0) {
                compute_us(6e3);
#pragma omp atomic write
                prepared = step;
            } else {
                for (int seen = 0; seen < step;) { // HOT
#pragma omp atomic read
                    seen = prepared; // HOT
                }
            }
#endif
            compute_us(6e3 / n);
#pragma omp barrier
        }
    }
    return prepared < 0;
}
