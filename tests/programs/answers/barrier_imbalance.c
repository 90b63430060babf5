// SPDX-License-Identifier: Apache-2.0
/*
 * The threads are late in turn at explicit barriers.
 */
#include "answer.h"

enum { kPhases = 6 };

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
    {
        for (int phase = 0; phase < kPhases; phase++) {
            spin_ns(omp_get_thread_num() == phase % 2 ? 5 * MS : 1 * MS);
#pragma omp barrier
        }
    }
    expect_states(kPhases * (5 * MS + 1 * MS), kPhases * 4 * MS, 0, 0);
    return 0;
}
