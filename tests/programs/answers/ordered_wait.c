// SPDX-License-Identifier: Apache-2.0
/*
 * An ordered block waits for its turn: sync; the barrier after it: idle.
 */
#include "answer.h"

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            spin_ns(i == 0 ? 8 * MS : 2 * MS);
#pragma omp ordered
            spin_ns(4 * MS);
        }
    }
    expect_states((8 + 2 + 4 + 4) * MS, 4 * MS, 10 * MS, 10 * MS);
    return 0;
}
