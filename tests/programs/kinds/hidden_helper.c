// SPDX-License-Identifier: Apache-2.0
/*
 * Deferred target tasks between ordinary tasks, in chains of dependences. libomp runs target tasks on hidden helper
 * threads, on the host if there is no device. The runtime decides whether a target task counts as an explicit task,
 * and whether the team of helpers counts as a region.
 */
#include "../facts.h"

enum { kTasks = 30 };

int main(void) {
    int link[kTasks];
    long n_targets = 0;
    long *n_seen = &n_targets;
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task depend(out : link[i]) firstprivate(i)
            {
                link[i] = i;
                count_task();
            }
#pragma omp target nowait depend(inout : link[i]) map(tofrom : link[i]) firstprivate(i) firstprivate(n_seen)
            {
                __atomic_fetch_add(n_seen, 1, __ATOMIC_RELAXED);
                link[i] += 1;
            }
#pragma omp task depend(in : link[i]) firstprivate(i)
            {
                REQUIRE(link[i] == i + 1);
                count_task();
            }
        }
#pragma omp taskwait
        REQUIRE(load_long(&n_targets) == kTasks);
    }
    REQUIRE(n_tasks_run == 2 * kTasks);
    printf("targets %ld\n", n_targets);
    printf("FACTS tasks_min=%ld tasks_max=%ld regions_min=1\n", n_tasks_run, n_tasks_run + 2L * kTasks);
    return 0;
}
