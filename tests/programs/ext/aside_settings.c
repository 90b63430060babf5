// SPDX-License-Identifier: Apache-2.0
/*
 * Two tasks of domain 0 wait for children in domain 1 in turn. Each steps aside for the other and resumes with its own
 * settings. `aside_settings BEFORE AFTER [ROUNDS]`: BEFORE and AFTER are 1 if they change settings before and after the
 * wait, else 0. Needs two threads, two domains and strict mode.
 */
#include <omp.h>
#include <omp_ext.h>
#include <string.h>

#include "../facts.h"

static int first_setting;
static long first_has_begun, n_children_begun, other_has_begun, first_has_gone_on;
static int changes_before, changes_after;
static omp_lock_t lock; /* in a program with locks, every wait steps aside */

/* Spins until the value is reached; the other thread changes it. */
static void spin_until(const long *value, long at_least) {
    while (load_long(value) < at_least) {}
}

static void check_child(int setting) {
#pragma omp task
    {
        REQUIRE(omp_get_max_threads() == setting);
        count_task();
    }
#pragma omp taskwait
}

static int change(int setting, int to) {
    if (to) omp_set_num_threads(setting = to);
    REQUIRE(omp_get_max_threads() == setting);
    check_child(setting);
    REQUIRE(omp_get_max_threads() == setting);
    return setting;
}

static void wait_aside(const long *for_this, long *then, int salt) {
    const int thread = omp_get_thread_num();
    int setting = change(first_setting, changes_before ? 10 + salt : 0);
    omp_child_task_affinity(1);
#pragma omp task
    {
        REQUIRE(omp_get_max_threads() == setting);
        add_long(&n_children_begun, 1);
        spin_until(for_this, 1);
        count_task();
    }
#pragma omp taskgroup
    {
#pragma omp task
        {
            add_long(&n_children_begun, 1);
            spin_until(for_this, 1);
            count_task();
        }
    }
#pragma omp taskwait
    store_long(then, 1);
    omp_child_task_affinity(0);
    REQUIRE(omp_get_thread_num() == thread && omp_get_locality_domain_num() == 0);
    REQUIRE(omp_get_max_threads() == setting);
    setting = change(setting, changes_after ? 20 + salt : 0);
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
    count_task();
}

static void one_round(void) {
    first_has_begun = n_children_begun = other_has_begun = first_has_gone_on = 0;
#pragma omp parallel num_threads(2)
    if (omp_get_locality_domain_num() == 1) {
        omp_child_task_affinity(0);
#pragma omp task
        {
            REQUIRE(omp_get_max_threads() == first_setting);
            store_long(&first_has_begun, 1);
            wait_aside(&other_has_begun, &first_has_gone_on, 1);
        }
        spin_until(&first_has_begun, 1);
#pragma omp task
        {
            REQUIRE(omp_get_max_threads() == first_setting); /* not the setting of the task that stepped aside */
            store_long(&other_has_begun, 1);
            spin_until(&n_children_begun, 2); /* otherwise its child might run before the first task's */
            long ignored;
            wait_aside(&first_has_gone_on, &ignored, 2);
        }
    }
    count_region();
}

int main(int argc, char **argv) {
    REQUIRE(argc >= 3 && omp_get_num_locality_domains() == 2);
    changes_before = atoi(argv[1]);
    changes_after = atoi(argv[2]);
    const int n_rounds = argc > 3 ? atoi(argv[3]) : 1;
    first_setting = omp_get_max_threads();
    omp_init_lock(&lock);
    for (int i = 0; i < n_rounds; i++) one_round();
    struct omp_ext_statistics all;
    REQUIRE(omp_ext_get_statistics(&all, sizeof all) == 0);
    REQUIRE(n_tasks_run == 10 * n_rounds && all.n_rescued == 0);
    print_facts();
    return 0;
}
