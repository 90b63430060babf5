// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks with priorities of several levels. Respects OMP_MAX_TASK_PRIORITY.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long weight = 0;
    int highest = omp_get_max_task_priority();
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 300; i++) {
#pragma omp task priority(i % (highest + 1)) firstprivate(i) shared(weight)
            {
                add_long(&weight, i);
                count_task();
                if (i % 3 == 0) {
#pragma omp task priority(highest)
                    count_task();
                }
            }
        }
    }
    REQUIRE(weight == 300L * 299 / 2);
    REQUIRE(n_tasks_run == 400);
    printf("weight = %ld\n", weight);
    print_facts();
    return 0;
}
