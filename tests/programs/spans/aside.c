// SPDX-License-Identifier: Apache-2.0
/*
 * Six tasks of one domain, each of which works 4 ms, waits for a child of 30 ms in another domain, and works 4 ms. They
 * step aside, so the thread of the first domain runs all six meanwhile. The span is that of one task. Waiting is not
 * work. Linked with libomp_ext.so.
 */
#include <omp_ext.h>

#include "spans.h"

enum { kTasks = 6, kBefore = 4000000, kChild = 30000000, kAfter = 4000000 };

int main(void) {
    long long before[kTasks], child[kTasks], after[kTasks], all = 0, span = 0;
    long n_begun = 0, max_begun = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        omp_child_task_affinity(0);
        for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i) shared(before, child, after, n_begun, max_begun)
            {
                count_task();
                const long begun = add_long(&n_begun, 1);
                if (begun > load_long(&max_begun)) store_long(&max_begun, begun);
                before[i] = work_ns(kBefore);
                omp_child_task_affinity(omp_get_num_locality_domains() - 1);
#pragma omp task firstprivate(i) shared(child)
                {
                    count_task();
                    child[i] = work_ns(kChild);
                }
#pragma omp taskwait
                add_long(&n_begun, -1);
                after[i] = work_ns(kAfter);
            }
        }
    }
    for (int i = 0; i < kTasks; i++) {
        span = longer(span, before[i] + child[i] + after[i]);
        all += before[i] + child[i] + after[i];
    }
    printf("at once %ld\n", max_begun);
    expect_span(span, all);
    print_facts();
    return 0;
}
