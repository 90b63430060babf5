// SPDX-License-Identifier: Apache-2.0
/*
 * taskloop with a reduction, and taskloop that takes part in the reduction of a taskgroup.
 */
#include "../facts.h"

int main(void) {
    long sum = 0, squares = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskloop num_tasks(10) reduction(+ : sum)
        for (int i = 0; i < 1000; i++) {
            if (i % 100 == 0) count_task();
            sum += i;
        }
#pragma omp taskgroup task_reduction(+ : squares)
        {
#pragma omp taskloop num_tasks(10) in_reduction(+ : squares)
            for (int i = 0; i < 100; i++) {
                if (i % 10 == 0) count_task();
                squares += (long)i * i;
            }
        }
    }
    REQUIRE(sum == 499500);
    REQUIRE(squares == 328350);
    REQUIRE(n_tasks_run == 20);
    printf("sum = %ld, squares = %ld\n", sum, squares);
    print_facts();
    return 0;
}
