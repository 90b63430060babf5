// SPDX-License-Identifier: Apache-2.0
/*
 * A taskloop of six tasks for two threads. Then one thread computes while the other is idle.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop num_tasks(6)
        for (int i = 0; i < 12; i++) spin_ns(3 * MS);
        spin_ns(5 * MS);
    }
    expect_construct(6, 36 * MS, 6 * MS, 6 * MS);
    expect_states(36 * MS + 5 * MS, 5 * MS, 0, 0);
    return 0;
}
