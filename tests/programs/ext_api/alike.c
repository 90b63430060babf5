// SPDX-License-Identifier: Apache-2.0
/*
 * Needs strict mode, one CPU and as many threads as domains. All domains then have the same CPU, and any thread runs
 * the tasks of every domain. All threads but the first are busy until the first has run a task of each domain.
 */
#include <omp.h>
#include <sched.h>

#include "../facts.h"
#include "omp_ext.h"

static int n_domains;
static int is_over; /* atomic */

static void check(int domain) {
    count_task();
    REQUIRE(omp_get_thread_num() == 0);
    REQUIRE(omp_get_locality_domain_num() == domain);
}

/* Places a task; checks that it, its child and an undeferred task all run in that domain. */
static void place(int domain) {
    omp_child_task_affinity(domain);
#pragma omp task
    {
        check(domain);
#pragma omp task
        check(domain);
#pragma omp task if (0)
        check(domain);
#pragma omp taskwait
    }
    REQUIRE(omp_ext_get_child_task_affinity() == domain);
    REQUIRE(omp_get_locality_domain_num() == 0); /* this thread's domain */
}

int main(void) {
    n_domains = omp_get_num_locality_domains();
#pragma omp parallel
    {
        REQUIRE(omp_get_num_threads() == n_domains);
        REQUIRE(omp_get_locality_domain_num() == omp_get_thread_num());
#pragma omp barrier
        int thread = -1;
        REQUIRE(omp_ext_get_domain_threads(omp_get_thread_num(), &thread, 1) == 1);
        REQUIRE(thread == omp_get_thread_num());
        if (omp_get_thread_num() == 0) {
            for (int domain = 0; domain < n_domains; domain++) place(domain);
#pragma omp taskwait
            __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
        } else {
            while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) sched_yield();
        }
    }
    count_region();
    struct omp_ext_statistics all;
    REQUIRE(omp_ext_get_statistics(&all, sizeof all) == 0);
    REQUIRE(n_tasks_run == 3 * n_domains && all.n_run == 2 * (uint64_t)n_domains); /* undeferred tasks are not held */
    REQUIRE(all.n_local == all.n_run && all.n_rescued == 0 && all.n_stolen_outside == 0);
    print_facts();
    return 0;
}
