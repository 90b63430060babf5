// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks of a program that finds the runtime's functions by dlsym, as compilers at run time (Numba, Julia) do. Before
 * the first task, nothing shows that the program has tasks. Other threads may enter the region after the first thread
 * has created tasks in it. Prints the number of tasks that ran. With an argument, a second thread runs regions without
 * tasks at the same time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "../facts.h"

typedef int32_t (*Routine)(int32_t thread, void *block);

enum { N_TASKS = 100, N_REGIONS = 3 };

static void *(*make_task)(void *location, int32_t thread, int32_t flags, size_t bytes, size_t shared, Routine routine);
static int32_t (*submit_task)(void *location, int32_t thread, void *block);
static int32_t (*wait_for_tasks)(void *location, int32_t thread);
static int32_t (*number_of_thread)(void *location);

static long n_run, n_other_regions, is_over;

static void *run_other_regions(void *nothing) {
    while (!load_long(&is_over)) {
#pragma omp parallel
        if (omp_get_thread_num() == 0) add_long(&n_other_regions, 1);
    }
    return nothing;
}

static int32_t run(int32_t thread, void *block) {
    (void)thread, (void)block;
    add_long(&n_run, 1);
    return 0;
}

int main(int n_arguments, char **arguments) {
    (void)arguments;
    pthread_t other;
    *(void **)&make_task = dlsym(RTLD_DEFAULT, "__kmpc_omp_task_alloc");
    *(void **)&submit_task = dlsym(RTLD_DEFAULT, "__kmpc_omp_task");
    *(void **)&wait_for_tasks = dlsym(RTLD_DEFAULT, "__kmpc_omp_taskwait");
    *(void **)&number_of_thread = dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num");
    REQUIRE(make_task && submit_task && wait_for_tasks && number_of_thread);
    if (n_arguments > 1) REQUIRE(pthread_create(&other, NULL, run_other_regions, NULL) == 0);
    while (n_arguments > 1 && load_long(&n_other_regions) < 2) {}
    for (int i = 0; i < N_REGIONS; i++) {
#pragma omp parallel
        if (omp_get_thread_num() == 0) {
            const int32_t thread = number_of_thread(NULL);
            for (int k = 0; k < N_TASKS; k++) submit_task(NULL, thread, make_task(NULL, thread, 1, 40, 0, run));
            wait_for_tasks(NULL, thread);
        }
    }
    store_long(&is_over, 1);
    if (n_arguments > 1) REQUIRE(pthread_join(other, NULL) == 0);
    REQUIRE(n_run == (long)N_TASKS * N_REGIONS);
    printf("%ld tasks ran\n", n_run);
    return 0;
}
