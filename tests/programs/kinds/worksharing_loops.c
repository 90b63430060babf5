// SPDX-License-Identifier: Apache-2.0
/*
 * Worksharing loops with static, dynamic and guided schedules. One has no barrier at its end, one creates tasks.
 */
#include "../facts.h"

enum { kIterations = 1000 };

int main(void) {
    long sums[5] = {0};
    for (int round = 0; round < 3; round++) {
#pragma omp parallel shared(sums)
        {
#pragma omp master
            count_region();
#pragma omp for schedule(static)
            for (int i = 0; i < kIterations; i++) add_long(&sums[0], i);
#pragma omp for schedule(static, 7) nowait
            for (int i = 0; i < kIterations; i++) add_long(&sums[1], i);
#pragma omp for schedule(dynamic, 8)
            for (int i = 0; i < kIterations; i++) add_long(&sums[2], i);
#pragma omp for schedule(guided)
            for (int i = 0; i < kIterations; i++) add_long(&sums[3], i);
#pragma omp for schedule(dynamic)
            for (int i = 0; i < kIterations / 10; i++) {
#pragma omp task firstprivate(i) shared(sums)
                {
                    add_long(&sums[4], i);
                    count_task();
                }
            }
        }
    }
    for (int i = 0; i < 4; i++) REQUIRE(sums[i] == 3L * kIterations * (kIterations - 1) / 2);
    REQUIRE(sums[4] == 3 * 100 * 99 / 2);
    REQUIRE(n_tasks_run == 300);
    printf("sums %ld %ld\n", sums[0], sums[4]);
    print_facts();
    return 0;
}
