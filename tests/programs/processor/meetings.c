// SPDX-License-Identifier: Apache-2.0
// More threads than processors that compute a little and wait for each other at a barrier: meetings STEPS ROUNDS
// Prints the processor time of their computations, COMPUTED ns=
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t processor_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(int n_arguments, char **arguments) {
    const long n_steps = atol(arguments[1]), rounds = atol(arguments[n_arguments - 1]);
    int64_t computed_ns = 0;
#pragma omp parallel reduction(+ : computed_ns)
    for (long step = 0; step < n_steps; step++) {
        const int64_t before = processor_ns();
        volatile double value = 1;
        for (long i = 0; i < rounds; i++) value = value * 1.0000001 + 1e-9;
        computed_ns += processor_ns() - before;
#pragma omp barrier
    }
    printf("COMPUTED ns=%lld\n", (long long)computed_ns);
    return 0;
}
