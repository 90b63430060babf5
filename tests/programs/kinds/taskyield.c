// SPDX-License-Identifier: Apache-2.0
/*
 * taskyield in tied tasks and in the implicit task, with and without other tasks to run.
 */
#include "../facts.h"

int main(void) {
    long n_yields = 0;
#pragma omp parallel
    {
#pragma omp master
        count_region();
#pragma omp taskyield
#pragma omp barrier
#pragma omp single
        {
            for (int i = 0; i < 200; i++) {
#pragma omp task shared(n_yields)
                {
                    spin_ns(1000);
#pragma omp taskyield
                    add_long(&n_yields, 1);
#pragma omp taskyield
                    count_task();
                }
            }
            for (int i = 0; i < 100; i++) {
#pragma omp taskyield
            }
        }
    }
    REQUIRE(n_yields == 200);
    REQUIRE(n_tasks_run == 200);
    printf("yields %ld\n", n_yields);
    print_facts();
    return 0;
}
