// SPDX-License-Identifier: Apache-2.0
/* Prints a line per thread of a region: its number, and the processors on which it may run. Spins before the output. */
#include "facts.h"

#include <omp.h>
#include <sched.h>

enum { MOST_THREADS = 64 };

int main(void) {
    static cpu_set_t masks[MOST_THREADS];
    int n_threads = 0;
#pragma omp parallel
    {
        const int number = omp_get_thread_num();
        REQUIRE(number < MOST_THREADS);
        REQUIRE(sched_getaffinity(0, sizeof masks[number], &masks[number]) == 0);
        spin_ns(30000000);
#pragma omp master
        n_threads = omp_get_num_threads();
    }
    for (int number = 0; number < n_threads; number++) {
        printf("thread %d:", number);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &masks[number])) printf(" %d", cpu);
        printf("\n");
    }
    return 0;
}
