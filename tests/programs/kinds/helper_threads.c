// SPDX-License-Identifier: Apache-2.0
/*
 * A team of two with tasks of equal length, and also a few deferred target tasks, which libomp runs on hidden
 * helper threads. The team works for much longer than the target tasks take, so it never waits for them.
 */
#include "../facts.h"

enum { kTasks = 200, kTargets = 20, kTaskNanoseconds = 500000, kTargetNanoseconds = 200000 };

int main(void) {
    long n_targets = 0;
    long *n_seen = &n_targets;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTargets; i++) {
#pragma omp target nowait firstprivate(n_seen)
            {
                spin_ns(kTargetNanoseconds);
                __atomic_fetch_add(n_seen, 1, __ATOMIC_RELAXED);
            }
        }
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            {
                spin_ns(kTaskNanoseconds);
                count_task();
            }
        }
    }
    REQUIRE(load_long(&n_targets) == kTargets);
    REQUIRE(n_tasks_run == kTasks);
    printf("FACTS tasks_min=%ld tasks_max=%ld regions=%ld\n", n_tasks_run, n_tasks_run + kTargets, n_regions);
    return 0;
}
