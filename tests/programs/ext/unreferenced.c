// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks of a program that finds the runtime's functions by dlsym, as compilers at run time (Numba, Julia) do. Before
 * the first task, nothing shows that the program has tasks. Other threads may enter the region after the first thread
 * has created tasks in it. Prints the number of tasks that ran.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#include "../facts.h"

typedef int32_t (*Routine)(int32_t thread, void *block);

enum { N_TASKS = 100, N_REGIONS = 3 };

static void *(*make_task)(void *location, int32_t thread, int32_t flags, size_t bytes, size_t shared, Routine routine);
static int32_t (*submit_task)(void *location, int32_t thread, void *block);
static int32_t (*wait_for_tasks)(void *location, int32_t thread);
static int32_t (*number_of_thread)(void *location);

static long n_run;

static int32_t run(int32_t thread, void *block) {
    (void)thread, (void)block;
    add_long(&n_run, 1);
    return 0;
}

int main(void) {
    *(void **)&make_task = dlsym(RTLD_DEFAULT, "__kmpc_omp_task_alloc");
    *(void **)&submit_task = dlsym(RTLD_DEFAULT, "__kmpc_omp_task");
    *(void **)&wait_for_tasks = dlsym(RTLD_DEFAULT, "__kmpc_omp_taskwait");
    *(void **)&number_of_thread = dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num");
    REQUIRE(make_task && submit_task && wait_for_tasks && number_of_thread);
    for (int i = 0; i < N_REGIONS; i++) {
#pragma omp parallel
        if (omp_get_thread_num() == 0) {
            const int32_t thread = number_of_thread(NULL);
            for (int k = 0; k < N_TASKS; k++) submit_task(NULL, thread, make_task(NULL, thread, 1, 40, 0, run));
            wait_for_tasks(NULL, thread);
        }
    }
    REQUIRE(n_run == (long)N_TASKS * N_REGIONS);
    printf("%ld tasks ran\n", n_run);
    return 0;
}
