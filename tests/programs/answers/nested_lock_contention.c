// SPDX-License-Identifier: Apache-2.0
/*
 * Both threads use a nested lock, which its owner takes twice; the wait is for the last release.
 */
#include "answer.h"

static long held;

int main(void) {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    warm_up();
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_nest_lock(&lock);
            omp_set_nest_lock(&lock);
            store_long(&held, 1);
            spin_ns(5 * MS);
            omp_unset_nest_lock(&lock);
            spin_ns(5 * MS);
            omp_unset_nest_lock(&lock);
            spin_ns(10 * MS);
        } else {
            while (!load_long(&held)) {}
            spin_ns(4 * MS);
            omp_set_nest_lock(&lock);
            spin_ns(10 * MS);
            omp_unset_nest_lock(&lock);
        }
    }
    omp_destroy_nest_lock(&lock);
    expect_states(20 * MS + 14 * MS, 0, 6 * MS, 6 * MS);
    return 0;
}
