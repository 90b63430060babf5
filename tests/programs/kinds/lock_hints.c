// SPDX-License-Identifier: Apache-2.0
/*
 * Locks with hints, which select other implementations inside of libomp, and critical sections with hints.
 */
#include <omp.h>

#include "../facts.h"

enum { kHints = 4, kTasks = 100 };

int main(void) {
    static const omp_lock_hint_t hints[kHints] = {omp_lock_hint_none, omp_lock_hint_uncontended,
                                                  omp_lock_hint_contended, omp_lock_hint_speculative};
    omp_lock_t locks[kHints];
    omp_nest_lock_t nested;
    long held[kHints] = {0}, in_critical = 0, in_nested = 0;
    for (int i = 0; i < kHints; i++) omp_init_lock_with_hint(&locks[i], hints[i]);
    omp_init_nest_lock_with_hint(&nested, omp_lock_hint_contended);
#pragma omp parallel shared(locks, nested, held, in_critical, in_nested)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task shared(locks, nested, held, in_critical, in_nested)
            {
                for (int lock = 0; lock < kHints; lock++) {
                    omp_set_lock(&locks[lock]);
                    spin_ns(200);
                    held[lock]++;
                    omp_unset_lock(&locks[lock]);
                }
                omp_set_nest_lock(&nested);
                in_nested++;
                omp_unset_nest_lock(&nested);
#pragma omp critical(hinted) hint(omp_lock_hint_contended)
                in_critical++;
                count_task();
            }
        }
    }
    for (int i = 0; i < kHints; i++) {
        omp_destroy_lock(&locks[i]);
        REQUIRE(held[i] == kTasks);
    }
    omp_destroy_nest_lock(&nested);
    REQUIRE(in_critical == kTasks && in_nested == kTasks);
    REQUIRE(n_tasks_run == kTasks);
    printf("held %ld\n", held[0]);
    print_facts();
    return 0;
}
