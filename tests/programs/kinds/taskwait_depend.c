// SPDX-License-Identifier: Apache-2.0
/*
 * taskwait with dependences: waits for some children and not for others. The wait is not a task of the program, but
 * compilers for a libomp before 16 translate it to an empty task.
 */
#include "../facts.h"

enum { kRounds = 40 };

int main(void) {
    int first = 0, second = 0;
    long rest = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kRounds; i++) {
#pragma omp task depend(out : first) shared(first)
            {
                spin_ns(2000);
                first++;
                count_task();
            }
#pragma omp task depend(out : second) shared(second)
            {
                second++;
                count_task();
            }
#pragma omp task shared(rest)
            {
                add_long(&rest, 1);
                count_task();
            }
#pragma omp taskwait depend(in : first)
            REQUIRE(first == i + 1);
#pragma omp taskwait depend(inout : first, second)
            REQUIRE(second == i + 1);
        }
#pragma omp taskwait
        REQUIRE(load_long(&rest) == kRounds);
    }
    REQUIRE(n_tasks_run == 3 * kRounds);
    printf("first %d, second %d, rest %ld\n", first, second, rest);
    print_facts();
    return 0;
}
