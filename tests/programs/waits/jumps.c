// SPDX-License-Identifier: Apache-2.0
// Calls at the ends of regions and tasks. With -O2 compilers make them jumps, which return into the runtime.
#include <omp.h>
#include <time.h>

#include "facts.h"

__attribute__((noinline)) static void pause_a_while(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

__attribute__((noinline)) static void end_with_single(void) {
#pragma omp parallel
    {
#pragma omp single // @single
        pause_a_while();
    }
    count_region(); // follows the region, so the call of the region is not a jump
}

__attribute__((noinline)) static void end_with_barrier(void) {
#pragma omp parallel // @region_of_barrier
    {
        if (omp_get_thread_num() == 0) pause_a_while();
#pragma omp barrier
    }
    count_region(); // follows the region, so the call of the region is not a jump
}

__attribute__((noinline)) static void end_with_region(void) {
#pragma omp parallel // @outer_region
    {
        pause_a_while();
#pragma omp parallel
        pause_a_while();
    }
    count_region(); // follows the region, so the call of the region is not a jump
}

__attribute__((noinline)) static void end_with_taskwait(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task // @task_of_taskwait
        {
#pragma omp task
            count_task();
            pause_a_while();
#pragma omp taskwait
        }
    }
    count_region(); // follows the region, so the call of the region is not a jump
}

int main(void) {
    end_with_single();
    end_with_barrier();
    end_with_region();
    end_with_taskwait();
    return 0;
}
