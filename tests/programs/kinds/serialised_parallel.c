// SPDX-License-Identifier: Apache-2.0
/*
 * Parallel regions of one thread: by if(0), by num_threads(1), and because nesting is off. Their tasks run at once.
 */
#include <omp.h>

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
}

int main(void) {
    int n_threads = 0;
    omp_set_max_active_levels(1);
    for (int round = 0; round < 5; round++) {
#pragma omp parallel if (0)
        {
            count_region();
            REQUIRE(omp_get_num_threads() == 1);
            make_tasks(10);
        }
#pragma omp parallel num_threads(1)
        {
            count_region();
            make_tasks(10);
        }
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            count_region();
            n_threads = omp_get_num_threads();
        }
#pragma omp parallel num_threads(2)
        {
            count_region();
            REQUIRE(omp_get_num_threads() == 1);
            make_tasks(10);
#pragma omp parallel num_threads(2)
            {
                count_region();
                make_tasks(1);
            }
        }
    }
    REQUIRE(n_threads == 2);
    REQUIRE(n_regions == 10 + 1 + 2 + 2);
    REQUIRE(n_tasks_run == 2 * (100 + 20 + 2));
    printf("serialised\n");
    print_facts();
    return 0;
}
