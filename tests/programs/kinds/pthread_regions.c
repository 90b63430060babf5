// SPDX-License-Identifier: Apache-2.0
/*
 * Several threads that OpenMP did not create execute parallel regions at the same time.
 */
#include <pthread.h>

#include "../facts.h"

enum { kThreads = 3, kRegions = 10, kTasks = 20 };

static void *open_regions(void *unused) {
    for (int region = 0; region < kRegions; region++) {
        long ran = 0;
#pragma omp parallel num_threads(2) shared(ran)
#pragma omp single
        {
            count_region();
            for (int i = 0; i < kTasks; i++) {
#pragma omp task shared(ran)
                {
                    add_long(&ran, 1);
                    count_task();
                }
            }
        }
        REQUIRE(ran == kTasks);
    }
    return unused;
}

int main(void) {
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, open_regions, NULL) == 0);
    open_regions(NULL);
    for (int i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(n_regions == (kThreads + 1) * kRegions);
    REQUIRE(n_tasks_run == (kThreads + 1) * kRegions * kTasks);
    printf("regions %ld\n", n_regions);
    print_facts();
    return 0;
}
