// SPDX-License-Identifier: Apache-2.0
/*
 * Settings that a task changes: they apply to the task and to its later children, not to its parent and siblings. They
 * disappear with the task.
 */
#include <omp.h>

#include "../facts.h"

static void change(int n) {
    omp_set_num_threads(n);
    omp_set_schedule(omp_sched_dynamic, n);
    omp_set_dynamic(n % 2);
}

static int is(int n) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    return omp_get_max_threads() == n && kind == omp_sched_dynamic && chunk == n && omp_get_dynamic() == n % 2;
}

static void task_with(int n, int depth) {
    change(n);
    for (int i = 1; i <= 3; i++) {
        if (depth == 0) break;
#pragma omp task firstprivate(n, depth, i)
        {
            REQUIRE(is(n));
            task_with(n + i, depth - 1);
            REQUIRE(is(n + i));
            count_task();
        }
    }
    REQUIRE(is(n));
#pragma omp taskwait
    REQUIRE(is(n));
}

int main(void) {
    change(5);
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i)
            {
                REQUIRE(is(5));
#pragma omp task
                {
                    REQUIRE(is(5));
                    count_task();
                }
                task_with(6 + i, 3);
                count_task();
            }
        }
        REQUIRE(is(5));
    }
    REQUIRE(is(5));
    REQUIRE(n_tasks_run == 20 * (2 + 3 + 9 + 27));
    printf("tasks %ld\n", n_tasks_run);
    print_facts();
    return 0;
}
