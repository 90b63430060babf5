// SPDX-License-Identifier: Apache-2.0
/*
 * Three works of equal length, one below the other: each must lie before the next, so that the span is the work.
 * The inner task has no one to wait for it but the end of the region.
 */
#include "spans.h"

enum { kLength = 40000000 };

int main(void) {
    long long first = 0, second = 0, third = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        first = work_ns(kLength);
#pragma omp task shared(second, third)
        {
            count_task();
            second = work_ns(kLength);
#pragma omp task shared(third)
            {
                count_task();
                third = work_ns(kLength);
            }
        }
#pragma omp taskwait
    }
    expect_span(first + second + third, first + second + third);
    print_facts();
    return 0;
}
