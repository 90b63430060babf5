// SPDX-License-Identifier: Apache-2.0
/*
 * masked (OpenMP 5.1), for the primary thread and with a filter, with tasks in it.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long primary = 0, second = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(2) shared(primary, second)
        {
#pragma omp masked
            {
                count_region();
                add_long(&primary, 1);
            }
#pragma omp masked filter(1)
            {
                REQUIRE(omp_get_thread_num() == 1);
                add_long(&second, 1);
                for (int i = 0; i < 5; i++) {
#pragma omp task
                    count_task();
                }
            }
        }
    }
    REQUIRE(primary == 20 && second == 20);
    REQUIRE(n_tasks_run == 100);
    printf("primary %ld, second %ld\n", primary, second);
    print_facts();
    return 0;
}
