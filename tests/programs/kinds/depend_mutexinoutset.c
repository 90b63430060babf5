// SPDX-License-Identifier: Apache-2.0
/*
 * depend mutexinoutset: tasks that may run in any order, but only one at a time.
 */
#include "../facts.h"

int main(void) {
    int value = 0, inside = 0, last = -1;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp task depend(out : value) shared(value)
        {
            value = 1;
            count_task();
        }
        for (int i = 0; i < 100; i++) {
#pragma omp task depend(mutexinoutset : value) shared(value, inside)
            {
                REQUIRE(__atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL) == 1);
                value++;
                REQUIRE(__atomic_sub_fetch(&inside, 1, __ATOMIC_ACQ_REL) == 0);
                count_task();
            }
        }
#pragma omp task depend(in : value) shared(value, last)
        {
            last = value;
            count_task();
        }
    }
    REQUIRE(last == 101);
    REQUIRE(n_tasks_run == 102);
    printf("last = %d\n", last);
    print_facts();
    return 0;
}
