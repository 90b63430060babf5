// SPDX-License-Identifier: Apache-2.0
/*
 * A single long task for two threads; its creator waits for it. The thread that does not run the task idles.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        spin_ns(40 * MS);
#pragma omp taskwait
    }
    expect_construct(1, 40 * MS, 40 * MS, 40 * MS);
    expect_states(40 * MS, 40 * MS, 0, 0);
    return 0;
}
