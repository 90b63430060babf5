// SPDX-License-Identifier: Apache-2.0
/*
 * A league of teams on the host, with parallel regions and tasks in them. Runtimes count regions differently here, so
 * only the tasks are compared.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long n_teams = 0, distributed = 0;
#pragma omp teams num_teams(2) thread_limit(2) shared(n_teams, distributed)
    {
        add_long(&n_teams, 1);
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            for (int i = 0; i < 20; i++) {
#pragma omp task
                count_task();
            }
        }
#pragma omp distribute parallel for
        for (int i = 0; i < 100; i++) add_long(&distributed, 1);
    }
    REQUIRE(n_teams >= 1 && n_teams <= 2);
    REQUIRE(distributed == 100);
    REQUIRE(n_tasks_run == 20 * n_teams);
    printf("distributed %ld\n", distributed);
    printf("FACTS tasks=%ld\n", n_tasks_run);
    return 0;
}
