// SPDX-License-Identifier: Apache-2.0
/*
 * Undeferred tasks of different lengths run on their creator; the other thread idles.
 */
#include "answer.h"

enum { kTasks = 6 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 1; i <= kTasks; i++) {
#pragma omp task if (0) firstprivate(i)
        spin_ns(i * MS);
    }
    long long work_ns = kTasks * (kTasks + 1) / 2 * MS;
    expect_construct(kTasks, work_ns, MS, kTasks * MS);
    expect_states(work_ns, work_ns, 0, 0);
    return 0;
}
