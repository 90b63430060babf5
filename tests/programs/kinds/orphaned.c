// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks created outside of every parallel region: by the initial task, before, between and after regions.
 */
#include "../facts.h"

static void make_tasks(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp task
        {
#pragma omp task
            count_task();
            count_task();
        }
    }
#pragma omp taskwait
#pragma omp taskgroup
    {
#pragma omp task
        count_task();
    }
}

int main(void) {
    make_tasks(10);
#pragma omp parallel
    {
#pragma omp master
        count_region();
#pragma omp single
        make_tasks(10);
    }
    make_tasks(10);
    REQUIRE(n_tasks_run == 3 * 21);
    printf("orphans ran\n");
    print_facts();
    return 0;
}
