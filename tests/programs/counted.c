// SPDX-License-Identifier: Apache-2.0
/*
 * counted TASKS ITERATIONS [PAUSED]: TASKS tasks with a loop of ITERATIONS iterations, two instructions each. A loop of
 * PAUSED iterations runs before them while the recording pauses. Needs x86-64 or AArch64.
 */
#include <omp.h>
#include <stdlib.h>

#include "facts.h"

static void count_down(long n) {
#if defined(__x86_64__)
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n)::"cc");
#elif defined(__aarch64__)
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n)::"cc");
#endif
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 3 || n_arguments == 4);
    const int n_tasks = atoi(arguments[1]);
    const long n_iterations = atol(arguments[2]);
    if (n_arguments == 4) {
#pragma omp parallel
        count_down(1); // starts the runtime
        count_region();
        REQUIRE(omp_control_tool((int)omp_control_tool_pause, 0, NULL) == 0);
        count_down(atol(arguments[3]));
        REQUIRE(omp_control_tool((int)omp_control_tool_start, 0, NULL) == 0);
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n_tasks; i++) {
#pragma omp task
        {
            count_task();
            count_down(n_iterations);
        }
    }
    count_region();
    print_facts();
    return 0;
}
