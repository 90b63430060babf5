// SPDX-License-Identifier: Apache-2.0
/*
 * Ten tasks with a false if clause. Each creates two tasks, deferred if the team has several threads, and awaits both.
 */
#include "../facts.h"

int main(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 10; i++) {
#pragma omp task if (0)
            {
                count_task();
                for (int j = 0; j < 2; j++) {
#pragma omp task
                    {
                        count_task();
                        spin_ns(1000000);
                    }
                }
#pragma omp taskwait
            }
        }
    }
    print_facts();
    return 0;
}
