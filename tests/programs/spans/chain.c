// SPDX-License-Identifier: Apache-2.0
/*
 * Three nested works of equal length: each must precede the next, so the span equals the work. Only the end of the
 * region waits for the inner task.
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
