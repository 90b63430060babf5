// SPDX-License-Identifier: Apache-2.0
/*
 * A task of domain 0 waits for its child, and the task's parent waits for the task. Meanwhile the thread begins another
 * task, which waits until the parent has continued. HOW is the kind of this wait: LOCK, CRITICAL, EVENT or YIELD. The
 * program hangs if the other task runs on top of the first. Needs two domains and three threads, two in domain 0.
 */
#include <omp.h>
#include <omp_ext.h>

#include "../facts.h"

#define LOCK 1
#define CRITICAL 2
#define EVENT 3
#define YIELD 4

static long has_begun, other_has_begun, has_passed;
#if HOW == LOCK
static omp_lock_t lock;
#elif HOW == EVENT
static omp_event_handle_t event;
#endif

/* Spins for at most a second, because the task that sets the flag may be on this thread. */
static void spin_until(const long *flag) {
    const long long end_ns = now_ns() + 1000000000;
    while (!load_long(flag) && now_ns() < end_ns) {}
}

static void wait_for_child(void) {
    store_long(&has_begun, 1);
    omp_child_task_affinity(1);
#pragma omp task
    spin_until(&other_has_begun);
#pragma omp taskwait
}

static void wait_for_waiting_child(void) {
    omp_child_task_affinity(0);
#pragma omp task
    wait_for_child();
#pragma omp taskwait
}

/* Runs in domain 1. */
static void first(void) {
#if HOW == LOCK
    omp_set_lock(&lock);
    wait_for_waiting_child();
    omp_unset_lock(&lock);
#elif HOW == CRITICAL
#pragma omp critical
    wait_for_waiting_child();
#else
    wait_for_waiting_child();
#if HOW == EVENT
    spin_until(&other_has_begun);
    omp_fulfill_event(event);
#else
    store_long(&has_passed, 1);
#endif
#endif
}

/* Runs in domain 0. */
static void other(void) {
#if HOW == LOCK
    store_long(&other_has_begun, 1);
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
#elif HOW == CRITICAL
    store_long(&other_has_begun, 1);
#pragma omp critical
    store_long(&has_passed, 1);
#elif HOW == EVENT
    omp_event_handle_t mine;
#pragma omp task detach(mine)
    {}
    event = mine;
    store_long(&other_has_begun, 1);
#pragma omp taskwait
#else
    store_long(&other_has_begun, 1);
    while (!load_long(&has_passed)) {
#pragma omp taskyield
    }
#endif
    store_long(&has_passed, 1);
}

int main(void) {
#if HOW == LOCK
    omp_init_lock(&lock);
#endif
#pragma omp parallel num_threads(3)
    if (omp_get_thread_num() == 0) {
        omp_child_task_affinity(1);
#pragma omp task
        first();
        spin_until(&has_begun);
        omp_child_task_affinity(0);
#pragma omp task
        other();
        spin_until(&other_has_begun); /* the domain's other thread must begin it */
    }
    REQUIRE(has_begun && other_has_begun && has_passed);
    return 0;
}
