// SPDX-License-Identifier: Apache-2.0
/*
 * A million tiny tasks from one producer: queues fill up, some run at once.
 */
#include "../facts.h"

enum { kTasks = 1000000 };

int main(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            count_task();
        }
    }
    REQUIRE(n_tasks_run == kTasks);
    printf("a million\n");
    print_facts();
    return 0;
}
