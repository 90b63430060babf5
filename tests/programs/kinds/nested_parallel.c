// SPDX-License-Identifier: Apache-2.0
/*
 * Parallel regions in parallel regions, to three levels, with tasks at each.
 */
#include <omp.h>

#include "../facts.h"

static void open_level(int level) {
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        count_region();
        REQUIRE(omp_get_num_threads() == 2);
        for (int i = 0; i < 4; i++) {
#pragma omp task
            count_task();
        }
        if (level < 3) open_level(level + 1);
#pragma omp task
        count_task();
    }
}

int main(void) {
    omp_set_max_active_levels(3);
    for (int round = 0; round < 3; round++) open_level(1);
    REQUIRE(n_regions == 3 * (1 + 2 + 4));
    REQUIRE(n_tasks_run == 3 * (2 + 4 + 8) * 5);
    printf("levels done\n");
    print_facts();
    return 0;
}
