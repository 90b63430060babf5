// SPDX-License-Identifier: Apache-2.0
/*
 * Two trees of tasks without work: after a while the tool reads no clock when such a task creates another, so the
 * trace has only an interval for the creation. Then the same with undeferred tasks, most of which are not timed.
 */
#include "../facts.h"

static void make(int depth, int deferred) {
    for (int child = 0; child < 2; child++) {
#pragma omp task if (deferred) firstprivate(depth, deferred)
        {
            count_task();
            if (depth > 0) make(depth - 1, deferred);
        }
    }
}

int main(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        make(6, 1);
        make(6, 0);
    }
    print_facts();
    return 0;
}
