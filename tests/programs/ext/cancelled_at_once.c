// SPDX-License-Identifier: Apache-2.0
// Creates tasks in a taskgroup that another task has cancelled, so each task is cancelled at its creation. Needs
// OMP_CANCELLATION=true.
#include <stdio.h>

enum { kTasks = 2000 };

int main(void) {
    int is_cancelled = 0, n_run = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
    {
#pragma omp task shared(is_cancelled)
        {
#pragma omp atomic write
            is_cancelled = 1;
#pragma omp cancel taskgroup
        }
        for (int seen = 0; !seen;) {
#pragma omp taskyield
#pragma omp atomic read
            seen = is_cancelled;
        }
        for (int i = 0; i < kTasks; i++)
#pragma omp task shared(n_run)
        {
#pragma omp atomic
            n_run++;
        }
    }
    printf("ran %d\n", n_run);
    return n_run > kTasks;
}
