// SPDX-License-Identifier: Apache-2.0
/*
 * Untied tasks that are suspended in the middle of their body: in a taskwait, in a taskyield and at the creation of
 * further tasks. untied.c tests short untied tasks.
 */
#include "../facts.h"

enum { kOuter = 40, kInner = 6 };

int main(void) {
    long total = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int outer = 0; outer < kOuter; outer++) {
#pragma omp task untied firstprivate(outer) shared(total)
            {
                long partial = 0;
                for (int inner = 0; inner < kInner; inner++) {
#pragma omp task firstprivate(outer, inner) shared(partial)
                    {
                        spin_ns(5000);
                        add_long(&partial, outer * kInner + inner);
                        count_task();
                    }
#pragma omp taskyield
                }
#pragma omp taskwait
                add_long(&total, partial);
#pragma omp taskyield
                count_task();
            }
        }
    }
    long n = kOuter * kInner;
    REQUIRE(total == n * (n - 1) / 2);
    REQUIRE(n_tasks_run == n + kOuter);
    printf("total = %ld\n", total);
    print_facts();
    return 0;
}
