// SPDX-License-Identifier: Apache-2.0
/*
 * tree [depth [regions]]: a recursion that places every level, as a user would first write it. Each task creates two
 * children in different domains and waits for them. Prints the time of each region in ms, and the numbers of tasks, of
 * tasks outside of their domain, and of rescues.
 */
#include <omp.h>
#include <omp_ext.h>

#include "../facts.h"

static int n_domains;
static long n_outside;

/* Counts the task, also as outside if it does not run in `domain`, where its creator placed it. Creates children. */
static void tree(int depth, int domain) {
    count_task();
    if (omp_get_locality_domain_num() != domain) add_long(&n_outside, 1);
    if (depth == 0) return;
    for (int i = 0; i < 2; i++) {
        const int there = (domain + i * (depth % 3)) % n_domains;
        omp_child_task_affinity(there);
#pragma omp task
        tree(depth - 1, there);
    }
#pragma omp taskwait
}

int main(int n_arguments, char **arguments) {
    const int depth = n_arguments > 1 ? atoi(arguments[1]) : 12;
    const int n_rounds = n_arguments > 2 ? atoi(arguments[2]) : 1;
    n_domains = omp_get_num_locality_domains();
    printf("ms");
    for (int round = 0; round < n_rounds; round++) {
        const long long start_ns = now_ns();
#pragma omp parallel
        {
#pragma omp single
            {
                omp_child_task_affinity(0);
#pragma omp task
                tree(depth, 0);
            }
        }
        printf(" %.1f", (double)(now_ns() - start_ns) / 1e6);
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("; tasks %ld, outside %ld, rescued %llu\n", n_tasks_run, n_outside, (unsigned long long)all.n_rescued);
    REQUIRE(n_tasks_run == n_rounds * ((2L << depth) - 1));
    REQUIRE((unsigned long long)n_tasks_run == all.n_run);
    REQUIRE((unsigned long long)(n_tasks_run - n_outside) == all.n_local);
    return 0;
}
