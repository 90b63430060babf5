// SPDX-License-Identifier: Apache-2.0
/*
 * Cancelled parallel regions: half of their tasks have run, tasks that have not started are discarded, and the threads
 * leave through the end of the region. The threads wait for the cancellation, because libomp hangs if a thread has
 * already reached the end. Needs OMP_CANCELLATION=true.
 */
#include <omp.h>

#include "../facts.h"

enum { kRegions = 10, kTasks = 100 };

int main(void) {
    long n_cancelling = 0, n_after = 0;
    REQUIRE(omp_get_cancellation());
    for (int region = 0; region < kRegions; region++) {
#pragma omp parallel shared(n_cancelling, n_after)
        {
            if (omp_get_thread_num() == 0) {
                count_region();
                for (int i = 0; i < kTasks; i++) {
                    if (i == kTasks / 2) {
#pragma omp taskwait
                    }
                    count_creation();
#pragma omp task
                    {
                        count_task();
                        spin_ns(2000);
                    }
                }
                add_long(&n_cancelling, 1);
#pragma omp cancel parallel
                add_long(&n_after, 1);
            }
            for (;;) {
#pragma omp cancellation point parallel
            }
        }
    }
    REQUIRE(n_cancelling == kRegions);
    REQUIRE(n_after == 0);
    REQUIRE(n_tasks_made == kRegions * kTasks);
    REQUIRE(n_tasks_run >= n_tasks_made / 2 && n_tasks_run <= n_tasks_made);
    printf("cancelling %ld\n", n_cancelling);
    printf("FACTS tasks=%ld created=%ld cancelled=%ld regions=%ld\n", n_tasks_run, n_tasks_made,
           n_tasks_made - n_tasks_run, n_regions);
    return 0;
}
