// SPDX-License-Identifier: Apache-2.0
/*
 * The same region sixteen times, with one task each: figures add up over the instances.
 */
#include "answer.h"

enum { kInstances = 16 };

int main(void) {
    warm_up();
    for (int instance = 0; instance < kInstances; instance++) {
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task
            spin_ns(1 * MS);
#pragma omp taskwait
        }
    }
    expect_construct(kInstances, kInstances * MS, MS, MS);
    expect_states(kInstances * MS, kInstances * MS, 0, 0);
    return 0;
}
