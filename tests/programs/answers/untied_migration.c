// SPDX-License-Identifier: Apache-2.0
/*
 * One untied task in eight parts, which yields between them and may resume on either thread. The other thread idles.
 */
#include "answer.h"

enum { kParts = 8 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task untied
        {
            for (int part = 0; part < kParts; part++) {
                spin_ns(3 * MS);
#pragma omp taskyield
            }
        }
    }
    expect_construct(1, kParts * 3 * MS, kParts * 3 * MS, kParts * 3 * MS);
    expect_states(kParts * 3 * MS, kParts * 3 * MS, 0, 0);
    return 0;
}
