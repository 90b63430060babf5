// SPDX-License-Identifier: Apache-2.0
/*
 * Reductions of a taskgroup and of a parallel region in which tasks take part.
 */
#include "../facts.h"

static long n_entered;

int main(void) {
    long sum = 0, largest = 0, in_region = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(max : largest)
        {
            for (long i = 1; i <= 200; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(max : largest) firstprivate(i)
                {
                    sum += i;
                    if (i > largest) largest = i;
                    count_task();
                }
            }
        }
    }
#pragma omp parallel reduction(task, + : in_region)
    {
#pragma omp master
        count_region();
        add_long(&n_entered, 1);
        for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : in_region)
            {
                in_region += 1;
                count_task();
            }
        }
    }
    REQUIRE(sum == 20100 && largest == 200);
    REQUIRE(in_region == 10 * n_entered);
    REQUIRE(n_tasks_run == 200 + 10 * n_entered);
    printf("sum %ld, largest %ld\n", sum, largest);
    print_facts();
    return 0;
}
