// SPDX-License-Identifier: Apache-2.0
/*
 * A task waits for two children: one runs inside its wait, one on the other thread. Their time is work, not waiting.
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
            for (int child = 0; child < 2; child++) {
#pragma omp task
                spin_ns(8 * MS);
            }
#pragma omp taskwait
            spin_ns(3 * MS);
        }
#pragma omp taskwait
    }
    expect_construct(kRounds, kRounds * 5 * MS, 5 * MS, 5 * MS);
    expect_construct(2 * kRounds, 2 * kRounds * 8 * MS, 8 * MS, 8 * MS);
    expect_states(kRounds * (5 + 16) * MS, kRounds * 5 * MS, 0, 0);
    return 0;
}
