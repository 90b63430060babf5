// SPDX-License-Identifier: Apache-2.0
// A serial part of known shares between two short regions, too long for the kernel's ring of samples.
#include <stdio.h>
#include <stdlib.h>

#define SPIN static inline __attribute__((always_inline))
#include "spin.h"

int main(int argc, char **argv) {
    const long n = argc > 1 ? atol(argv[1]) : 150000000;
    static volatile uint64_t sink;
#pragma omp parallel
    sink = 1;
    sink = spin_third(sink, n);
    sink = spin_fifth(sink, n);
    sink = spin_half(sink, n);
#pragma omp parallel
    sink = 1;
    // The kernel reports with the next sample how many samples it lost.
    sink = spin_third(sink, n / 50);
    sink = spin_fifth(sink, n / 50);
    sink = spin_half(sink, n / 50);
    printf("FACTS regions=2\n");
    return 0;
}
