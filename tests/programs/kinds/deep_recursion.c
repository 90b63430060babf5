// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks nested 2,000 deep, undeferred and deferred; each parent waits for its child. Run it with OMP_STACKSIZE=64M.
 */
#include "../facts.h"

static long descend_undeferred(int depth) {
    long below = 0;
    if (depth == 0) return 0;
#pragma omp task if (0) shared(below) firstprivate(depth)
    {
        below = descend_undeferred(depth - 1);
        count_task();
    }
    return below + 1;
}

static long descend_deferred(int depth) {
    long below = 0;
    if (depth == 0) return 0;
#pragma omp task shared(below) firstprivate(depth)
    {
        below = descend_deferred(depth - 1);
        count_task();
    }
#pragma omp taskwait
    return below + 1;
}

int main(void) {
    long undeferred = 0, deferred = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        undeferred = descend_undeferred(2000);
        deferred = descend_deferred(2000);
    }
    REQUIRE(undeferred == 2000 && deferred == 2000);
    REQUIRE(n_tasks_run == 4000);
    printf("depth %ld %ld\n", undeferred, deferred);
    print_facts();
    return 0;
}
