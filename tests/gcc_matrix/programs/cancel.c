// SPDX-License-Identifier: Apache-2.0
// Cancelled regions and taskgroups, whose results do not depend on which thread is first.
// environment: OMP_CANCELLATION=true
#include <omp.h>
#include <stdio.h>

int main(void) {
    int n_after = 0, n_tasks = 0;
#pragma omp parallel
    {
#pragma omp cancel parallel
#pragma omp atomic
        n_after++;
    }
    printf("region %d\n", n_after);
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp cancellation point parallel
#pragma omp atomic
        n_after++;
    }
    printf("region at the barrier %d\n", n_after);
#pragma omp parallel
#pragma omp masked
#pragma omp taskgroup
    {
        for (int i = 0; i < 20; i++)
#pragma omp task
        {
#pragma omp cancel taskgroup
#pragma omp atomic
            n_tasks++;
        }
    }
    printf("taskgroup %d, cancellation %d\n", n_tasks, omp_get_cancellation());
#pragma omp parallel
#pragma omp masked
#pragma omp taskgroup
#pragma omp task
    {
#pragma omp task
        {
#pragma omp cancel taskgroup
        }
#pragma omp taskwait
#pragma omp cancellation point taskgroup
#pragma omp atomic
        n_tasks++;
    }
    printf("cancellation point %d\n", n_tasks);
    return 0;
}
