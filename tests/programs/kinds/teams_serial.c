// SPDX-License-Identifier: Apache-2.0
/*
 * Leagues of two teams and of one in turn, whose regions have one thread. For a league of one, libomp passes tools
 * the data of an earlier region, and reports a team of two for the code of the league.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long n_teams = 0, n_small = 0, distributed = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp teams num_teams(2) shared(n_teams)
        {
            add_long(&n_teams, 1);
#pragma omp parallel if (0)
            add_long(&distributed, 1);
        }
#pragma omp teams distribute parallel for num_teams(2) num_threads(1)
        for (int i = 0; i < 100; i++) add_long(&distributed, 1);
#pragma omp teams num_teams(1) shared(n_small)
        {
            add_long(&n_small, 1);
#pragma omp parallel if (0)
            add_long(&distributed, 1);
        }
    }
    REQUIRE(n_small == 3);
    REQUIRE(distributed == 300 + n_teams + n_small);
    printf("distributed %ld\n", distributed - n_teams);
    printf("FACTS tasks=%ld\n", n_tasks_run);
    return 0;
}
