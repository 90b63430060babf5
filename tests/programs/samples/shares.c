// SPDX-License-Identifier: Apache-2.0
// Tasks that spend known shares of their time on three lines of spin.h.
#include <stdio.h>
#include <stdlib.h>

#ifdef IN_LIBRARY
#include <stdint.h>
uint64_t spin_half(uint64_t x, long n);
uint64_t spin_third(uint64_t x, long n);
uint64_t spin_fifth(uint64_t x, long n);
#else
#include "spin.h"
#endif

int main(int argc, char **argv) {
    const int n_tasks = argc > 1 ? atoi(argv[1]) : 200;
    static volatile uint64_t sink;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n_tasks; i++) {
#pragma omp task
        {
            uint64_t x = (uint64_t)i;
            x = spin_half(x, 200000);
            x = spin_third(x, 200000);
            x = spin_fifth(x, 200000);
            sink = x;
        }
    }
    printf("FACTS tasks=%d\n", n_tasks);
    return 0;
}
