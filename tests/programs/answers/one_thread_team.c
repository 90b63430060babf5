// SPDX-License-Identifier: Apache-2.0
/*
 * A team of one thread runs its tasks at once: all work.
 */
#include "answer.h"

enum { kTasks = 10 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(1)
    {
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            spin_ns(3 * MS);
        }
        spin_ns(2 * MS);
    }
    expect_construct(kTasks, kTasks * 3 * MS, 3 * MS, 3 * MS);
    expect_states(kTasks * 3 * MS + 2 * MS, 0, 0, 0);
    return 0;
}
