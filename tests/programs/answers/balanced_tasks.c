// SPDX-License-Identifier: Apache-2.0
/*
 * Each thread creates tasks and runs them in its taskwait: work and nothing else.
 */
#include "answer.h"

enum { kTasks = 10 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
    {
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            spin_ns(2 * MS);
        }
#pragma omp taskwait
    }
    expect_construct(2 * kTasks, 2 * kTasks * 2 * MS, 2 * MS, 2 * MS);
    expect_states(2 * kTasks * 2 * MS, 0, 0, 0);
    return 0;
}
