// SPDX-License-Identifier: Apache-2.0
/*
 * One thread holds a critical section while the other waits for it: the wait is sync, and no thread idles.
 */
#include "answer.h"

enum { kRounds = 3 };

static long inside[kRounds];

int main(void) {
    warm_up();
#pragma omp parallel num_threads(2)
    {
        for (int round = 0; round < kRounds; round++) {
            if (omp_get_thread_num() == 0) {
#pragma omp critical
                {
                    store_long(&inside[round], 1);
                    spin_ns(8 * MS);
                }
                spin_ns(2 * MS);
            } else {
                while (!load_long(&inside[round])) {}
                spin_ns(2 * MS);
#pragma omp critical
                spin_ns(2 * MS);
            }
#pragma omp barrier
        }
    }
    expect_states(kRounds * (10 + 4) * MS, 0, kRounds * 6 * MS, kRounds * 6 * MS);
    return 0;
}
