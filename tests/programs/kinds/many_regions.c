// SPDX-License-Identifier: Apache-2.0
/*
 * Runs 600 parallel regions one after the other, from two constructs, with teams of one to four threads. The
 * regions of one construct have up to six tasks each; the regions of the other have none.
 */
#include <omp.h>

#include "../facts.h"

static void *entered; /* a write that keeps compilers from removing regions */

int main(void) {
    long n_threads = 0;
    for (int region = 0; region < 300; region++) {
#pragma omp parallel num_threads(1 + region % 4)
        {
#pragma omp master
            {
                count_region();
                add_long(&n_threads, omp_get_num_threads());
            }
#pragma omp single
            for (int i = 0; i < region % 7; i++) {
#pragma omp task
                count_task();
            }
        }
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            count_region();
            __atomic_store_n(&entered, &entered, __ATOMIC_RELAXED);
        }
    }
    REQUIRE(n_regions == 600);
    REQUIRE(n_threads == 75 * (1 + 2 + 3 + 4));
    long expected = 0;
    for (int region = 0; region < 300; region++) expected += region % 7;
    REQUIRE(n_tasks_run == expected);
    printf("threads %ld\n", n_threads);
    print_facts();
    return 0;
}
