// SPDX-License-Identifier: Apache-2.0
/*
 * The construct `single`: plain, with nowait, with copyprivate. The construct `master`; masked.c has `masked`.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long singles = 0, masters = 0, copied = 0, n_threads = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel shared(singles, masters, copied, n_threads)
        {
            int value = -1;
#pragma omp master
            {
                count_region();
                masters++;
                add_long(&n_threads, omp_get_num_threads());
#pragma omp task
                count_task();
            }
#pragma omp single nowait
            {
                add_long(&singles, 1);
#pragma omp task
                count_task();
            }
#pragma omp single
            add_long(&singles, 1);
#pragma omp single copyprivate(value)
            value = round;
            REQUIRE(value == round);
            add_long(&copied, 1);
        }
    }
    REQUIRE(singles == 40 && masters == 20 && copied == n_threads);
    REQUIRE(n_tasks_run == 40);
    printf("singles %ld, masters %ld\n", singles, masters);
    print_facts();
    return 0;
}
