// SPDX-License-Identifier: Apache-2.0
/*
 * Two untied tasks that yield between their parts keep two threads at work, and may change places.
 */
#include "answer.h"

enum { kParts = 8 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 2; i++) {
#pragma omp task untied
        {
            for (int part = 0; part < kParts; part++) {
                spin_ns(3 * MS);
#pragma omp taskyield
            }
        }
    }
    expect_construct(2, 2 * kParts * 3 * MS, kParts * 3 * MS, kParts * 3 * MS);
    expect_states(2 * kParts * 3 * MS, 0, 0, 0);
    return 0;
}
