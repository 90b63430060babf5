// SPDX-License-Identifier: Apache-2.0
/*
 * taskloop with far more tasks than libomp creates directly: it splits the loop with additional tasks, which OMPT shows
 * like others, so only a lower bound of the number is known. Also taskloop simd.
 */
#include "../facts.h"

enum { kTasks = 2000 };
static int cells[20 * kTasks];

int main(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
        count_region();
#pragma omp taskloop num_tasks(kTasks) shared(sum)
        for (int i = 0; i < 2 * kTasks; i++) {
            if (i % 2 == 0) count_task();
            add_long(&sum, i);
        }
#pragma omp taskloop simd num_tasks(8)
        for (int i = 0; i < 20 * kTasks; i++) cells[i] = i;
    }
    REQUIRE(sum == kTasks * (2L * kTasks - 1));
    for (int i = 0; i < 20 * kTasks; i++) REQUIRE(cells[i] == i);
    REQUIRE(n_tasks_run == kTasks);
    printf("sum = %ld\n", sum);
    printf("FACTS tasks_min=%d regions=1\n", kTasks + 8);
    return 0;
}
