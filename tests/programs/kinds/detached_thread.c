// SPDX-License-Identifier: Apache-2.0
/*
 * main returns while a detached thread, which OpenMP did not make, still opens regions and makes tasks. How many it
 * gets done is open; those counted before main's end must be there.
 */
#include <pthread.h>

#include "../facts.h"

static void *make_tasks_for_ever(void *unused) {
    for (;;) {
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task
            (void)now_ns();
        }
        add_long(&n_tasks_run, 10); /* the region is over, so its tasks are recorded */
        add_long(&n_regions, 1);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, make_tasks_for_ever, NULL) == 0);
    REQUIRE(pthread_detach(thread) == 0);
    while (load_long(&n_regions) < 100) spin_ns(10000);
    printf("left running\n");
    printf("FACTS tasks_min=%ld regions_min=%ld\n", load_long(&n_tasks_run), load_long(&n_regions));
    return 0;
}
