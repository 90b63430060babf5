// SPDX-License-Identifier: Apache-2.0
/*
 * Untied tasks that wait for untied children and yield in between, so they may resume on another thread.
 */
#include "../facts.h"

static long sum_range(long first, long last) {
    long left = 0, right = 0, middle = (first + last) / 2;
    if (last - first < 8) {
        for (long i = first; i < last; i++) left += i;
        return left;
    }
#pragma omp task untied shared(left) firstprivate(first, middle)
    {
        left = sum_range(first, middle);
#pragma omp taskyield
        count_task();
    }
#pragma omp task untied shared(right) firstprivate(middle, last)
    {
        right = sum_range(middle, last);
#pragma omp taskyield
        count_task();
    }
#pragma omp taskwait
    return left + right;
}

int main(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        sum = sum_range(0, 4096);
    }
    REQUIRE(sum == 4096L * 4095 / 2);
    REQUIRE(n_tasks_run == 2046);
    printf("sum = %ld\n", sum);
    print_facts();
    return 0;
}
