// SPDX-License-Identifier: Apache-2.0
// Prints the processors on which each of two threads may run, as a mask of the first 64.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void) {
    unsigned long masks[2] = {0, 0};
#pragma omp parallel num_threads(2)
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        for (int cpu = 0; cpu < 64; cpu++)
            if (CPU_ISSET(cpu, &set)) masks[omp_get_thread_num()] |= 1ul << cpu;
    }
    printf("%lx %lx\n", masks[0], masks[1]);
    return 0;
}
