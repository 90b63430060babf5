// SPDX-License-Identifier: Apache-2.0
/*
 * A cancelled taskgroup: tasks that never start, tasks that end at a cancellation point, and tasks that were complete
 * before. Needs OMP_CANCELLATION=true.
 */
#include <omp.h>

#include "../facts.h"

enum { kRounds = 20, kTasks = 200 };

int main(void) {
    long n_cancelling = 0;
    REQUIRE(omp_get_cancellation());
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int round = 0; round < kRounds; round++) {
#pragma omp taskgroup
            {
                for (int i = 0; i < kTasks; i++) {
                    count_creation();
#pragma omp task firstprivate(i) shared(n_cancelling)
                    {
                        count_task();
                        if (i == kTasks / 4) {
                            add_long(&n_cancelling, 1);
#pragma omp cancel taskgroup
                        }
                        spin_ns(1000);
#pragma omp cancellation point taskgroup
                        spin_ns(1000);
                    }
                }
            }
        }
    }
    REQUIRE(n_cancelling <= kRounds);
    REQUIRE(n_tasks_made == kRounds * kTasks);
    REQUIRE(n_tasks_run <= n_tasks_made);
    printf("created %ld\n", n_tasks_made);
    printf("FACTS tasks=%ld created=%ld cancelled=%ld regions=%ld\n", n_tasks_run, n_tasks_made,
           n_tasks_made - n_tasks_run, n_regions);
    return 0;
}
