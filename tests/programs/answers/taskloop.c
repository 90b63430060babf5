// SPDX-License-Identifier: Apache-2.0
/*
 * A taskloop of six tasks for two threads, followed by one of a single task.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop num_tasks(6)
        for (int i = 0; i < 12; i++) spin_ns(3 * MS);
#pragma omp taskloop num_tasks(1)
        for (int i = 0; i < 5; i++) spin_ns(1 * MS);
    }
    expect_construct(6, 36 * MS, 6 * MS, 6 * MS);
    expect_construct(1, 5 * MS, 5 * MS, 5 * MS);
    expect_states(36 * MS + 5 * MS, 5 * MS, 0, 0);
    return 0;
}
