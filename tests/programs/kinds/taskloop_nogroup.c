// SPDX-License-Identifier: Apache-2.0
/*
 * taskloop with nogroup: its tasks may end after the construct; a taskwait or the barrier waits for them.
 */
#include "../facts.h"

int main(void) {
    long waited = 0, left = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskloop nogroup num_tasks(10) shared(waited)
        for (int i = 0; i < 100; i++) {
            if (i % 10 == 0) count_task();
            add_long(&waited, 1);
        }
#pragma omp taskwait
        REQUIRE(load_long(&waited) == 100);
#pragma omp taskloop nogroup num_tasks(5) shared(left)
        for (int i = 0; i < 50; i++) {
            if (i % 10 == 0) count_task();
            add_long(&left, 1);
        }
    }
    REQUIRE(left == 50);
    REQUIRE(n_tasks_run == 15);
    printf("waited %ld, left %ld\n", waited, left);
    print_facts();
    return 0;
}
