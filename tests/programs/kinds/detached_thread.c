// SPDX-License-Identifier: Apache-2.0
/*
 * main returns while a detached thread, which OpenMP did not create, is in a parallel region and its tasks. All threads
 * run the program's code then, because libomp sometimes crashes when it is called during its shutdown.
 */
#include <pthread.h>

#include "../facts.h"

static long n_busy;

static void *open_regions(void *unused) {
    for (int region = 0; region < 100; region++) {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            count_region();
            for (int i = 0; i < 10; i++) {
#pragma omp task
                count_task();
            }
        }
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        count_region();
#pragma omp task if (0)
        {
            add_long(&n_busy, 1);
            for (;;) {}
        }
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, open_regions, NULL) == 0);
    REQUIRE(pthread_detach(thread) == 0);
    while (load_long(&n_busy) < 2) spin_ns(10000);
    printf("left running\n");
    printf("FACTS tasks=%ld created=%ld regions=%ld\n", load_long(&n_tasks_run),
           load_long(&n_tasks_run) + load_long(&n_busy), load_long(&n_regions));
    return 0;
}
