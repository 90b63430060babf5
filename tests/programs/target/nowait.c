// SPDX-License-Identifier: Apache-2.0
/*
 * A team of two that works, and target tasks (nowait) in two chains of dependences. libomp runs them on its hidden
 * helper threads, which belong to no team.
 */
#include "expected.h"

enum { kN = 4000, kTargets = 20, kTasks = 40, kTaskNanoseconds = 500000 };

int main(void) {
    double *a = values(kN, 0), *b = values(kN, 0);
    long first = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTargets; i++) {
            double *chain = i % 2 ? b : a;
            first = __LINE__ + 1;
#pragma omp target nowait map(tofrom : chain[0 : kN]) depend(inout : chain[0])
            for (int k = 0; k < kN; k++) chain[k] += 1;
        }
        for (int i = 0; i < kTasks; i++) {
#pragma omp task
            {
                spin_ns(kTaskNanoseconds);
                count_task();
            }
        }
#pragma omp taskwait
    }
    REQUIRE(a[0] == kTargets / 2 && b[0] == kTargets / 2);
    const long bytes = kTargets * kN * 8L;
    expect((int)first, "target nowait", 0,
           (struct Expected){.runs = kTargets,
                             .launches = kTargets,
                             .to = kTargets,
                             .to_bytes = bytes,
                             .from = kTargets,
                             .from_bytes = bytes,
                             .allocs = kTargets,
                             .alloc_bytes = bytes,
                             .repeated = kTargets - 2});
    printf("FACTS tasks=%ld regions=%ld\n", n_tasks_run + kTargets, n_regions);
    free(a), free(b);
    return 0;
}
