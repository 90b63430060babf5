// SPDX-License-Identifier: Apache-2.0
/*
 * Places the top of many task trees over all domains, and checks in each task of each tree where it runs.
 * Usage: strict N_TREES DEPTH. Prints how many tasks ran, how many of them outside the domain of their tree, and the
 * counts of the library. In strict mode, tasks outside are rescues, and the two counts must be equal.
 */
#include <omp.h>
#include <omp_ext.h>
#include <stdio.h>
#include <stdlib.h>

static long n_tasks, n_outside;
#pragma omp threadprivate(n_tasks, n_outside)

static void tree(int domain, int depth) {
    n_tasks++;
    if (omp_get_locality_domain_num() != domain) n_outside++;
    if (depth == 0) return;
    for (int child = 0; child < 2; child++) {
        // Set explicitly: by default the children of a rescued task run where it runs.
        omp_child_task_affinity(domain);
#pragma omp task
        tree(domain, depth - 1);
    }
#pragma omp taskwait
}

int main(int argc, char **argv) {
    const int n_trees = argc > 1 ? atoi(argv[1]) : 64, depth = argc > 2 ? atoi(argv[2]) : 6;
    long tasks = 0, outside = 0;
#pragma omp parallel reduction(+ : tasks, outside)
    {
#pragma omp single
        for (int i = 0; i < n_trees; i++) {
            const int domain = i % omp_get_num_locality_domains();
            omp_child_task_affinity(domain);
#pragma omp task
            tree(domain, depth);
        }
        tasks += n_tasks;
        outside += n_outside;
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    const long expected = (long)n_trees * ((2L << depth) - 1);
    printf("tasks %ld of %ld, outside %ld, domains %d\n", tasks, expected, outside, omp_get_num_locality_domains());
    printf("created %lu, run %lu, local %lu, rescued %lu, stolen outside %lu\n", (unsigned long)all.n_created,
           (unsigned long)all.n_run, (unsigned long)all.n_local, (unsigned long)all.n_rescued,
           (unsigned long)all.n_stolen_outside);
    if (tasks != expected || (long)all.n_run != expected || (long)(all.n_run - all.n_local) != outside) return 1;
    if (omp_ext_get_strict() && outside != (long)all.n_rescued) return 1;
    return 0;
}
