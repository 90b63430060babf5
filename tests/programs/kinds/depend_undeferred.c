// SPDX-License-Identifier: Apache-2.0
/*
 * Undeferred tasks with dependences: the creating task waits for the predecessors first.
 */
#include "../facts.h"

int main(void) {
    int value = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 50; i++) {
#pragma omp task depend(out : value) shared(value) firstprivate(i)
            {
                spin_ns(2000);
                REQUIRE(value == 2 * i);
                value++;
                count_task();
            }
#pragma omp task if (0) depend(inout : value) shared(value) firstprivate(i)
            {
                REQUIRE(value == 2 * i + 1);
                value++;
                count_task();
            }
        }
    }
    REQUIRE(value == 100);
    REQUIRE(n_tasks_run == 100);
    printf("value = %d\n", value);
    print_facts();
    return 0;
}
