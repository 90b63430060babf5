// SPDX-License-Identifier: Apache-2.0
/*
 * Several threads outside of OpenMP create tasks at the same time, not in any region, and end.
 */
#include <pthread.h>

#include "../facts.h"

enum { kThreads = 3, kTasks = 100 };

static void *make_tasks(void *unused) {
    long ran = 0;
    for (int i = 0; i < kTasks; i++) {
#pragma omp task shared(ran)
        {
            add_long(&ran, 1);
            count_task();
        }
    }
#pragma omp taskwait
    REQUIRE(load_long(&ran) == kTasks);
    return unused;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        pthread_t threads[kThreads];
        for (int i = 0; i < kThreads; i++) REQUIRE(pthread_create(&threads[i], NULL, make_tasks, NULL) == 0);
        for (int i = 0; i < kThreads; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
#pragma omp parallel
    {
#pragma omp master
        count_region();
    }
    REQUIRE(n_tasks_run == 2 * kThreads * kTasks);
    printf("pthreads made %ld\n", n_tasks_run);
    print_facts();
    return 0;
}
