// SPDX-License-Identifier: Apache-2.0
// Tasks that wait for another task's result by taskyield in a loop, and so keep their threads. Cured: a dependence.
#include "disease.h"

enum { kPairs = 120 };
static int results[kPairs];

static int is_ready(int pair) {
    int ready;
#pragma omp atomic read
    ready = results[pair];
    return ready;
}

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < kPairs; i++) {
#pragma omp task depend(out : results[i])
        {
            compute_us(4e3);
#pragma omp atomic write
            results[i] = 1;
        }
#ifdef CURED
#pragma omp task depend(in : results[i])
        compute_us(500);
#else
#pragma omp task // DISEASE
        {
            while (!is_ready(i)) {
#pragma omp taskyield // HOT
            }
            compute_us(500);
        }
#endif
    }
    return 0;
}
