// SPDX-License-Identifier: Apache-2.0
/*
 * taskloop with a grainsize that divides the iterations, so the number of tasks is known; fewer than ten tasks,
 * because for more the runtime splits the loop with additional tasks (taskloop_many.c).
 */
#include "../facts.h"

enum { kIterations = 200, kGrain = 25 };

int main(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskloop grainsize(kGrain) shared(sum)
        for (int i = 0; i < kIterations; i++) {
            if (i % kGrain == 0) count_task();
            add_long(&sum, i);
        }
    }
    REQUIRE(sum == kIterations * (kIterations - 1L) / 2);
    REQUIRE(n_tasks_run == kIterations / kGrain);
    printf("sum = %ld\n", sum);
    print_facts();
    return 0;
}
