// SPDX-License-Identifier: Apache-2.0
/*
 * A region of one thread that opens an imbalanced region of two, twice: time in the inner region does not count as the
 * outer region's.
 */
#include "answer.h"

int main(void) {
    omp_set_max_active_levels(2);
    warm_up();
#pragma omp parallel num_threads(1)
    {
        for (int round = 0; round < 2; round++) {
            spin_ns(5 * MS);
#pragma omp parallel num_threads(2)
            spin_ns(omp_get_thread_num() == 0 ? 10 * MS : 4 * MS);
        }
    }
    expect_states(2 * (5 + 14) * MS, 2 * 6 * MS, 0, 0);
    return 0;
}
