// SPDX-License-Identifier: Apache-2.0
/*
 * Runs two rounds of a recursion that places the tasks of every level. Needs a machine whose domain d is its node d.
 * In both rounds, asks the kernel for the node of each task, before and after the task's wait. The leaves write their
 * pages in the first round, and ask the kernel for the node of each page in the second. Prints each claim as
 * "CLAIM name held/all" for the test. Argument: the depth.
 */
#include "pages.h" /* must come first, because it includes facts.h */

#include <omp.h>

#include "omp_ext.h"

enum { kPagesOfLeaf = 4 };

static int n_domains;
static char *pages;
static long n_tasks_at_home, n_waits, n_waits_at_home, n_pages_at_home, n_pages_read;

static void tree(int depth, int domain, long leaf, int round) {
    count_task();
    add_long(&n_tasks_at_home, node_of_thread() == domain);
    if (depth == 0) {
        char *mine = pages + leaf * kPagesOfLeaf * PAGE_BYTES;
        if (round == 0) {
            for (long i = 0; i < kPagesOfLeaf; i++) mine[i * PAGE_BYTES] = 1;
        } else {
            add_long(&n_pages_read, kPagesOfLeaf);
            add_long(&n_pages_at_home, n_pages_on(mine, kPagesOfLeaf, domain));
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        const int there = (domain + i * (1 + depth % 3)) % n_domains;
        omp_child_task_affinity(there);
#pragma omp task
        tree(depth - 1, there, 2 * leaf + i, round);
    }
#pragma omp taskwait
    add_long(&n_waits, 1);
    add_long(&n_waits_at_home, node_of_thread() == domain);
}

int main(int n_arguments, char **arguments) {
    const int depth = n_arguments > 1 ? atoi(arguments[1]) : 8;
    n_domains = omp_get_num_locality_domains();
    pages = omp_affinity_alloc((size_t)((1L << depth) * kPagesOfLeaf * PAGE_BYTES));
    REQUIRE(pages);
    for (int round = 0; round < 2; round++) {
#pragma omp parallel
#pragma omp single
        {
            omp_child_task_affinity(0);
#pragma omp task
            tree(depth, 0, 0, round);
        }
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("CLAIM tasks %ld/%ld\n", n_tasks_at_home, n_tasks_run);
    printf("CLAIM tasks_that_waited %ld/%ld\n", n_waits_at_home, n_waits);
    printf("CLAIM pages %ld/%ld\n", n_pages_at_home, n_pages_read);
    printf("RESCUED %llu\n", (unsigned long long)all.n_rescued);
    return 0;
}
