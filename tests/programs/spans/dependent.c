// SPDX-License-Identifier: Apache-2.0
/*
 * Pairs of dependent tasks. The creator works as long as a pair before it creates that pair. In the trace, a dependence
 * stands between a task's `create` and its `create_span`. The span is the creator's work and the last pair.
 */
#include "spans.h"

enum { kPairs = 6, kTask = 5000000, kBetween = 10000000 };

int main(void) {
    long long between[kPairs], first[kPairs], second[kPairs], created = 0, all = 0, span = 0;
    int place = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kPairs; i++) {
            between[i] = work_ns(kBetween);
#pragma omp task depend(inout : place) firstprivate(i) shared(first)
            {
                count_task();
                first[i] = work_ns(kTask);
            }
#pragma omp task depend(inout : place) firstprivate(i) shared(second)
            {
                count_task();
                second[i] = work_ns(kTask);
            }
        }
    }
    for (int i = 0; i < kPairs; i++) {
        created += between[i];
        span = longer(span, created) + first[i] + second[i];
        all += between[i] + first[i] + second[i];
    }
    expect_span(span, all);
    print_facts();
    return 0;
}
