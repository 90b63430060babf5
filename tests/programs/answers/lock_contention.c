// SPDX-License-Identifier: Apache-2.0
/*
 * One thread holds a lock while a task on the other thread waits for it: the wait is sync, and not the task's work.
 */
#include "answer.h"

enum { kRounds = 3 };

static long held[kRounds];

int main(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    warm_up();
#pragma omp parallel num_threads(2)
    {
        for (int round = 0; round < kRounds; round++) {
            if (omp_get_thread_num() == 0) {
                omp_set_lock(&lock);
                store_long(&held[round], 1);
                spin_ns(8 * MS);
                omp_unset_lock(&lock);
                spin_ns(2 * MS);
            } else {
                while (!load_long(&held[round])) {}
#pragma omp task if (0)
                {
                    spin_ns(2 * MS);
                    omp_set_lock(&lock);
                    spin_ns(2 * MS);
                    omp_unset_lock(&lock);
                }
            }
#pragma omp barrier
        }
    }
    omp_destroy_lock(&lock);
    expect_construct(kRounds, kRounds * 4 * MS, 4 * MS, 4 * MS);
    expect_states(kRounds * (10 + 4) * MS, 0, kRounds * 6 * MS, kRounds * 6 * MS);
    return 0;
}
