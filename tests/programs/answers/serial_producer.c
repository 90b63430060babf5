// SPDX-License-Identifier: Apache-2.0
/*
 * One thread creates a task of one millisecond every two milliseconds: the other thread idles half of the time, and one
 * thread idles while the last task runs.
 */
#include "answer.h"

enum { kTasks = 10 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < kTasks; i++) {
        spin_ns(2 * MS);
#pragma omp task
        spin_ns(1 * MS);
    }
    long long length_ns = kTasks * 2 * MS + 1 * MS, work_ns = kTasks * (2 * MS + 1 * MS);
    expect_construct(kTasks, kTasks * MS, MS, MS);
    expect_states(work_ns, 2 * length_ns - work_ns, 0, 0);
    return 0;
}
