// SPDX-License-Identifier: Apache-2.0
/*
 * untied WHAT N: untied tasks that any thread of their domain may resume after their wait.
 *   busy: a task waits, and its thread begins a second task, which ends only when the first has resumed. So the program
 *         hangs unless another thread resumes the first task, which then runs a loop in a serialized region. Needs two
 *         threads in each domain.
 *   reduction: the same, but the first task uses its thread's copy of a reduction variable. So this thread resumes it
 *         when the second task ends.
 *   tree: a recursion of untied tasks. Five kinds of wait take turns by level, and the awaited tasks have different
 *         domains. Checks its sum, and that locks and taskgroups belong to tasks and not to threads.
 * Prints how often a task moved to another thread, or ran outside its domain, and the number of rescued tasks.
 */
#include <omp.h>
#include <omp_ext.h>
#include <string.h>

#include "../facts.h"

static int n_domains;
static long n_moved, n_outside, n_inside, n_critical, sum;
static omp_nest_lock_t nest_lock;

static void check_domain(int domain) {
    if (omp_get_locality_domain_num() != domain) add_long(&n_outside, 1);
}

static void wait_until_the_other_runs(long *has_begun, long *other_runs, long *has_gone_on) {
    const int thread = omp_get_thread_num();
    store_long(has_begun, 1);
    omp_child_task_affinity(1);
#pragma omp task
    while (!load_long(other_runs)) {}
#pragma omp taskwait
    check_domain(0);
    if (omp_get_thread_num() != thread) add_long(&n_moved, 1);
    store_long(has_gone_on, 1);
}

/* Keeps the primary thread busy until the thread that began the first task runs the second. */
static void be_busy(long n) {
    for (long i = 0; i < n; i++) {
        long has_begun = 0, other_runs = 0, has_gone_on = 0;
#pragma omp parallel
#pragma omp master
        {
            omp_child_task_affinity(0);
#pragma omp task untied shared(has_begun, other_runs, has_gone_on)
            {
                wait_until_the_other_runs(&has_begun, &other_runs, &has_gone_on);
                int n_iterations = 0;
#pragma omp parallel for if (0)
                for (int k = 0; k < 100; k++) n_iterations++;
                REQUIRE(n_iterations == 100);
            }
            while (!load_long(&has_begun)) {}
#pragma omp task shared(other_runs, has_gone_on)
            {
                store_long(&other_runs, 1);
                while (!load_long(&has_gone_on)) {}
            }
            while (!load_long(&other_runs)) {}
        }
    }
    REQUIRE(n_moved == n);
}

static void keep_copies(long n) {
    for (long i = 0; i < n; i++) {
        long has_begun = 0, other_runs = 0, has_gone_on = 0, total = 0;
#pragma omp parallel
#pragma omp master
#pragma omp taskgroup task_reduction(+ : total)
        {
            omp_child_task_affinity(0);
#pragma omp task untied in_reduction(+ : total) shared(has_begun, other_runs, has_gone_on)
            {
                total++;
                wait_until_the_other_runs(&has_begun, &other_runs, &has_gone_on);
                total++;
            }
            while (!load_long(&has_begun)) {}
#pragma omp task shared(other_runs, has_gone_on)
            {
                store_long(&other_runs, 1);
                const long long end_ns = now_ns() + 20000000;
                while (!load_long(&has_gone_on) && now_ns() < end_ns) {}
            }
            while (!load_long(&other_runs)) {}
        }
        REQUIRE(total == 2);
    }
    REQUIRE(n_moved == 0);
}

static void tree(int depth, int domain);

static void two_children(int depth, int domain) {
    for (int i = 0; i < 2; i++) {
        const int there = (domain + i + depth) % n_domains;
        omp_child_task_affinity(there);
#pragma omp task untied
        tree(depth - 1, there);
    }
}

static void tree(int depth, int domain) {
    const int thread = omp_get_thread_num();
    count_task();
    add_long(&sum, 1);
    check_domain(domain);
    if (depth == 0) return;
    switch (depth % 5) {
    case 0: two_children(depth, domain);
#pragma omp taskwait
        break;
    case 1: {
        long before = 0;
#pragma omp taskgroup task_reduction(+ : before)
        {
            two_children(depth, domain);
#pragma omp task untied in_reduction(+ : before)
            before += depth;
        }
        REQUIRE(before == depth);
        break;
    }
    case 2: {
        two_children(depth, domain);
        int value = 0;
#pragma omp task untied shared(value) depend(out : value)
        value = depth;
#pragma omp task shared(value) depend(in : value) if (0)
        REQUIRE(value == depth);
#pragma omp taskyield
#pragma omp taskwait
        break;
    }
    case 3:
        omp_set_nest_lock(&nest_lock);
        REQUIRE(add_long(&n_inside, 1) == 1);
        omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task untied
        add_long(&sum, 0);
#pragma omp taskwait
        REQUIRE(omp_test_nest_lock(&nest_lock) == 2);
        omp_unset_nest_lock(&nest_lock);
        REQUIRE(add_long(&n_inside, -1) == 0);
        omp_unset_nest_lock(&nest_lock);
        two_children(depth, domain);
#pragma omp taskwait
        break;
    default:
#pragma omp taskgroup
    {
        two_children(depth, domain);
#pragma omp taskwait
        /* clang passes the runtime a thread number that this function read earlier: the task may have moved. */
#pragma omp parallel num_threads(2)
        add_long(&sum, omp_get_num_threads() == omp_get_thread_num() + 7);
    } break;
    }
#pragma omp critical
    {
        REQUIRE(add_long(&n_critical, 1) == 1);
        add_long(&n_critical, -1);
    }
    if (omp_get_thread_num() != thread) add_long(&n_moved, 1);
}

int main(int n_arguments, char **arguments) {
    const char *what = n_arguments > 1 ? arguments[1] : "busy";
    const int n = n_arguments > 2 ? atoi(arguments[2]) : 100;
    omp_init_nest_lock(&nest_lock);
    n_domains = omp_get_num_locality_domains();
    if (strcmp(what, "busy") == 0) {
        be_busy(n);
    } else if (strcmp(what, "reduction") == 0) {
        keep_copies(n);
    } else {
        for (int round = 0; round < 3; round++) {
            sum = 0;
#pragma omp parallel
#pragma omp single
            {
                omp_child_task_affinity(0);
#pragma omp task untied
                tree(n, 0);
            }
            REQUIRE(sum == (2L << n) - 1);
        }
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("moved %ld, outside %ld, rescued %llu\n", n_moved, n_outside, (unsigned long long)all.n_rescued);
    return 0;
}
