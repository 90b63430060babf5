// SPDX-License-Identifier: Apache-2.0
/*
 * A region becomes strict while its other threads wait in the barrier. Then tasks of domain 0 wait for tasks of
 * domain 1. In every second round, the region stops being strict at the end. -DTIEDNESS=untied makes the tasks untied.
 * Prints how many tasks ran outside their domain, and the number of rescued tasks. Needs two domains.
 */
#include <omp.h>
#include <omp_ext.h>
#include <unistd.h>

#include "../facts.h"

#ifndef TIEDNESS
#define TIEDNESS
#endif
#define PRAGMA(text) _Pragma(#text)
#define TASK(clause) PRAGMA(omp task clause)

enum { N_ROUNDS = 5, N_TASKS = 2000 };

static long n_outside;

static void check_domain(int domain) {
    if (omp_get_locality_domain_num() != domain) add_long(&n_outside, 1);
    count_task();
}

static void make_tasks(void) {
    for (int i = 0; i < N_TASKS; i++) {
        omp_child_task_affinity(0);
        TASK(TIEDNESS) {
            omp_child_task_affinity(1);
#pragma omp task
            check_domain(1);
#pragma omp taskwait
            check_domain(0);
        }
    }
}

int main(void) {
    REQUIRE(omp_get_num_locality_domains() == 2);
    for (int round = 0; round < N_ROUNDS; round++) {
        const long n_outside_before = n_outside;
#pragma omp parallel
#pragma omp single
        {
            usleep(10000); /* the other threads reach the barrier */
            omp_ext_set_region_strict(1);
            make_tasks();
#pragma omp taskwait
            make_tasks();
            omp_ext_set_region_strict(round % 2);
        }
        count_region();
        if (round % 2 == 0) n_outside = n_outside_before; /* its last tasks may run in any domain */
    }
    REQUIRE(n_tasks_run == 4 * N_ROUNDS * N_TASKS);
    struct omp_ext_statistics all;
    REQUIRE(omp_ext_get_statistics(&all, sizeof all) == 0);
    printf("outside %ld, rescued %llu\n", n_outside, (unsigned long long)all.n_rescued);
    return 0;
}
