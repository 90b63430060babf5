// SPDX-License-Identifier: Apache-2.0
// Prints the settings that a program reads from its runtime if no environment variable is set.
#include <omp.h>
#include <stdio.h>

int main(void) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("schedule %d,%d limit %d levels %d of %d\n", (int)(kind & 0xff), chunk, omp_get_thread_limit(),
           omp_get_max_active_levels(), omp_get_supported_active_levels());
    printf("devices %d, initial %d, priority %d, cancellation %d, dynamic %d, in parallel %d\n", omp_get_num_devices(),
           omp_get_initial_device(), omp_get_max_task_priority(), omp_get_cancellation(), omp_get_dynamic(),
           omp_in_parallel());
    return 0;
}
