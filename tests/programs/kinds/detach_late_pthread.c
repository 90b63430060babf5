// SPDX-License-Identifier: Apache-2.0
/*
 * Detachable tasks whose event a thread outside of OpenMP fulfils after the body has ended.
 */
#include <omp.h>
#include <pthread.h>

#include "../facts.h"

enum { kTasks = 50 };

static omp_event_handle_t events[kTasks];
static long handed_over[kTasks], fulfilled;

static void *fulfil_all(void *unused) {
    for (int i = 0; i < kTasks; i++) {
        while (!load_long(&handed_over[i])) sched_yield();
        spin_ns(20000);
        add_long(&fulfilled, 1);
        omp_fulfill_event(events[i]);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, fulfil_all, NULL) == 0);
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskgroup
        {
            for (int i = 0; i < kTasks; i++) {
                omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i)
                {
                    events[i] = event;
                    count_task();
                    store_long(&handed_over[i], 1);
                }
            }
        }
        REQUIRE(load_long(&fulfilled) == kTasks);
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(n_tasks_run == kTasks);
    printf("fulfilled = %ld\n", fulfilled);
    print_facts();
    return 0;
}
