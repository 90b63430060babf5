// SPDX-License-Identifier: Apache-2.0
/*
 * Eight tasks of 0.1 s, each created after 0.02 s of work of its creator: the last one begins after 8 * 0.02 s, so that
 * the span is (8 * 0.02 + 0.1) s of 8 * (0.02 + 0.1) s of work.
 */
#include "spans.h"

enum { kTasks = 8, kTask = 100000000, kBetween = 20000000 };

int main(void) {
    long long between[kTasks], task[kTasks], created = 0, all = 0, span = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
            between[i] = work_ns(kBetween);
#pragma omp task firstprivate(i) shared(task)
            {
                count_task();
                task[i] = work_ns(kTask);
            }
        }
    }
    for (int i = 0; i < kTasks; i++) {
        created += between[i];
        span = longer(span, created + task[i]);
        all += between[i] + task[i];
    }
    expect_span(span, all);
    print_facts();
    return 0;
}
