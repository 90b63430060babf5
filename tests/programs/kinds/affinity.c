// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks with the affinity clause, which libomp stores but does not use.
 */
#include "../facts.h"

static double rows[64][64];

int main(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int row = 0; row < 64; row++) {
#pragma omp task affinity(rows[row]) firstprivate(row)
            {
                for (int column = 0; column < 64; column++) rows[row][column] = row;
                count_task();
            }
        }
    }
    for (int row = 0; row < 64; row++) REQUIRE(rows[row][63] == row);
    REQUIRE(n_tasks_run == 64);
    printf("rows filled\n");
    print_facts();
    return 0;
}
