// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks that fulfil the event of another task, and then wait for a child while they hold a lock. The successor of the
 * detachable task needs the lock, too. It is not a descendant of the waiting task, so it must not run inside of that
 * task's wait, where it would wait forever.
 */
#include <omp.h>
#include <pthread.h>

#include "../facts.h"

enum { kRounds = 20 };

static omp_lock_t lock;
static omp_event_handle_t of_child;
static long is_child_waiting, n_successors;

// Fulfils the events of the children, some time after their bodies.
static void *fulfil_children(void *unused) {
    for (int i = 0; i < kRounds; i++) {
        while (!load_long(&is_child_waiting)) sched_yield();
        spin_ns(200000);
        omp_event_handle_t event = of_child;
        store_long(&is_child_waiting, 0);
        omp_fulfill_event(event);
    }
    return unused;
}

static void fulfil_and_wait(omp_event_handle_t event) {
    omp_set_lock(&lock);
    omp_fulfill_event(event);
    omp_event_handle_t child_event;
#pragma omp task detach(child_event)
    {
        of_child = child_event;
        count_task();
        store_long(&is_child_waiting, 1);
    }
#pragma omp taskwait
    omp_unset_lock(&lock);
}

static void run_round(void) {
    int x = 0;
    omp_event_handle_t event;
    long is_handed_over = 0;
    omp_event_handle_t handed_over;
#pragma omp task detach(event) depend(out : x) shared(handed_over, is_handed_over)
    {
        handed_over = event;
        count_task();
        store_long(&is_handed_over, 1);
    }
#pragma omp task depend(in : x)
    {
        omp_set_lock(&lock);
        count_task();
        add_long(&n_successors, 1);
        omp_unset_lock(&lock);
    }
    while (!load_long(&is_handed_over)) {
#pragma omp taskyield
    }
#pragma omp task shared(handed_over)
    {
        count_task();
        fulfil_and_wait(handed_over);
    }
#pragma omp taskwait
}

int main(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, fulfil_children, NULL) == 0);
    omp_init_lock(&lock);
    // In a team of one, libomp runs the successor inside of the call that fulfils the event.
#pragma omp parallel num_threads(omp_get_max_threads() > 1 ? omp_get_max_threads() : 2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kRounds; i++) run_round();
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(n_successors == kRounds && n_tasks_run == 4 * kRounds);
    printf("successors = %ld\n", n_successors);
    print_facts();
    omp_destroy_lock(&lock);
    return 0;
}
