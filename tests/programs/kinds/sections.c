// SPDX-License-Identifier: Apache-2.0
/*
 * Sections, combined and inside a region, with tasks in them.
 */
#include "../facts.h"

static void make_tasks(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp task
        count_task();
    }
}

int main(void) {
    long seen = 0;
    for (int round = 0; round < 10; round++) {
#pragma omp parallel sections shared(seen)
        {
#pragma omp section
            {
                count_region();
                make_tasks(3);
                add_long(&seen, 1);
            }
#pragma omp section
            {
                make_tasks(4);
                add_long(&seen, 10);
            }
#pragma omp section
            add_long(&seen, 100);
        }
#pragma omp parallel shared(seen)
        {
#pragma omp master
            count_region();
#pragma omp sections nowait
            {
#pragma omp section
                make_tasks(1);
#pragma omp section
                add_long(&seen, 1000);
            }
        }
    }
    REQUIRE(seen == 11110);
    REQUIRE(n_tasks_run == 80);
    printf("seen %ld\n", seen);
    print_facts();
    return 0;
}
