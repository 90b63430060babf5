// SPDX-License-Identifier: Apache-2.0
// Tasks that read the clock all the time, in the kernel's library (vdso): clock N.
#include "../facts.h"

static volatile long sum;

/* Reads the clock for 5 ms. */
__attribute__((noinline)) static void asks_for_time(void) {
    const long long end_ns = now_ns() + 5000000;
    while (now_ns() < end_ns) sum = sum + 1;
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 2);
    const long n = atol(arguments[1]);
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task
        asks_for_time();
    }
    return 0;
}
