// SPDX-License-Identifier: Apache-2.0
/*
 * Ends by SIGKILL in the middle of a task, while other tasks run and wait: a recording without an end.
 */
#include "../facts.h"

#include <signal.h>

enum { kTasks = 20, kLast = 12 };

static void inner(void) {
#pragma omp task
    {
        spin_ns(20000);
        count_task();
    }
    spin_ns(20000);
#pragma omp taskwait
}

int main(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i)
        {
            inner();
            if (i == kLast) {
                printf("FACTS tasks_min=%ld tasks_max=%d\n", load_long(&n_tasks_run), 2 * kTasks);
                fflush(stdout);
                raise(SIGKILL);
            }
            spin_ns(20000);
            count_task();
        }
    }
    return 1;
}
