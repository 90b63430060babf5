// SPDX-License-Identifier: Apache-2.0
/*
 * Ten tasks whose if clause is false, each with two tasks that a larger team defers, and a wait for them.
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
