// SPDX-License-Identifier: Apache-2.0
/*
 * A task waits for a task that waits for a task: only one thread has work at any time, wherever the tasks run. A task's
 * waiting time does not count as its work.
 */
#include "answer.h"

enum { kRounds = 2 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int round = 0; round < kRounds; round++) {
#pragma omp task
        {
            spin_ns(2 * MS);
#pragma omp task
            {
                spin_ns(1 * MS);
#pragma omp task
                spin_ns(6 * MS);
#pragma omp taskwait
                spin_ns(1 * MS);
            }
#pragma omp taskwait
            spin_ns(1 * MS);
        }
#pragma omp taskwait
    }
    expect_construct(kRounds, kRounds * 3 * MS, 3 * MS, 3 * MS);
    expect_construct(kRounds, kRounds * 2 * MS, 2 * MS, 2 * MS);
    expect_construct(kRounds, kRounds * 6 * MS, 6 * MS, 6 * MS);
    expect_states(kRounds * 11 * MS, kRounds * 11 * MS, 0, 0);
    return 0;
}
