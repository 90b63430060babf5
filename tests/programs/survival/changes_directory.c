// SPDX-License-Identifier: Apache-2.0
/*
 * Changes its working directory between regions, before further threads begin.
 */
#include "../facts.h"

#include <unistd.h>

static void make_tasks(int n_threads) {
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp master
        count_region();
        for (int i = 0; i < 100; i++) {
#pragma omp task
            count_task();
        }
    }
}

int main(void) {
    make_tasks(2);
    REQUIRE(chdir("/") == 0);
    make_tasks(4);
    REQUIRE(n_tasks_run == 600);
    printf("moved\n");
    print_facts();
    return 0;
}
