// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks with a final clause that becomes true at some depth. included.c tests the descendants of final tasks and
 * omp_in_final().
 */
#include "../facts.h"

static long count_leaves(int depth) {
    long left, right;
    if (depth == 0) return 1;
#pragma omp task final(depth <= 4) shared(left) firstprivate(depth)
    {
        left = count_leaves(depth - 1);
        count_task();
    }
#pragma omp task final(depth <= 4) shared(right) firstprivate(depth)
    {
        right = count_leaves(depth - 1);
        count_task();
    }
#pragma omp taskwait
    return left + right;
}

int main(void) {
    long leaves = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        leaves = count_leaves(9);
    }
    REQUIRE(leaves == 512);
    REQUIRE(n_tasks_run == 1022);
    printf("leaves = %ld\n", leaves);
    print_facts();
    return 0;
}
