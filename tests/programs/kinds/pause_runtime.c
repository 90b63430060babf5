// SPDX-License-Identifier: Apache-2.0
/*
 * A soft omp_pause_resource_all between regions, after which the runtime creates its threads again. (After a hard
 * pause, stock libomp 19 fails an assertion at the next region.)
 */
#include <omp.h>

#include "../facts.h"

static void make_tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 50; i++) {
#pragma omp task
            count_task();
        }
    }
}

int main(void) {
    make_tasks();
    make_tasks();
    REQUIRE(omp_pause_resource_all(omp_pause_soft) == 0);
    make_tasks();
    REQUIRE(n_tasks_run == 150);
    printf("paused\n");
    print_facts();
    return 0;
}
