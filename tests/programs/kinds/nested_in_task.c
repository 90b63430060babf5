// SPDX-License-Identifier: Apache-2.0
/*
 * Parallel regions in explicit tasks, for which their creator waits.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long inner_threads = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 10; i++) {
#pragma omp task shared(inner_threads)
            {
#pragma omp parallel num_threads(2) shared(inner_threads)
                {
                    add_long(&inner_threads, 1);
#pragma omp master
                    {
                        count_region();
                        for (int child = 0; child < 5; child++) {
#pragma omp task
                            {
                                spin_ns(1000);
                                count_task();
                            }
                        }
                    }
                }
                count_task();
            }
        }
#pragma omp taskwait
    }
    REQUIRE(inner_threads == 20);
    REQUIRE(n_regions == 11);
    REQUIRE(n_tasks_run == 60);
    printf("inner threads %ld\n", inner_threads);
    print_facts();
    return 0;
}
