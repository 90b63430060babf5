// SPDX-License-Identifier: Apache-2.0
/*
 * A task that holds a lock waits for its child in another domain. Meanwhile its domain receives a task that needs the
 * lock, and so must not run on top of the waiting task. Needs two threads and two domains.
 */
#include <omp.h>
#include <omp_ext.h>

#include "../facts.h"

static omp_lock_t lock;
static long is_sent, has_passed;

static void pass(void) {
    omp_set_lock(&lock);
    store_long(&has_passed, 1);
    omp_unset_lock(&lock);
}

static void hold(void) {
    omp_set_lock(&lock);
    omp_child_task_affinity(1);
#pragma omp task
    spin_ns(50000000); /* enough time to find the other task */
#pragma omp taskwait
    REQUIRE(!load_long(&has_passed));
    omp_unset_lock(&lock);
}

int main(void) {
    omp_init_lock(&lock);
#pragma omp parallel
    if (omp_get_thread_num() == 0) {
        omp_child_task_affinity(1);
#pragma omp task
        {
            omp_child_task_affinity(0);
#pragma omp task
            pass();
            store_long(&is_sent, 1);
        }
        while (!load_long(&is_sent)) {}
        omp_child_task_affinity(0);
#pragma omp task
        hold();
    }
    REQUIRE(has_passed);
    return 0;
}
