// SPDX-License-Identifier: Apache-2.0
/*
 * The threads of a team use devices at the same time, between tasks of their own, from implicit and explicit tasks.
 * Kernels have regions of their own.
 */
#include "expected.h"

enum { kThreads = 4, kRuns = 20, kN = 512, kTasks = 100 };

int main(void) {
    const int n_devices = omp_get_num_devices();
    double *a = values((long)kThreads * kN, 0), *b = values((long)kTasks * kN, 0);
    long line = 0, in_tasks = 0;
#pragma omp parallel num_threads(kThreads)
    {
#pragma omp masked
        count_region();
        double *mine = a + (long)omp_get_thread_num() * kN;
        const int device = omp_get_thread_num() % n_devices;
        for (int run = 0; run < kRuns; run++) {
#pragma omp masked
            line = __LINE__ + 1;
#pragma omp target parallel for device(device) map(tofrom : mine[0 : kN])
            for (int i = 0; i < kN; i++) mine[i] += 1;
        }
#pragma omp barrier
#pragma omp masked
        for (int k = 0; k < kTasks; k++) {
            double *one = b + (long)k * kN;
            in_tasks = __LINE__ + 2;
#pragma omp task
#pragma omp target parallel for device(0) map(to : one[0 : kN])
            for (int i = 0; i < kN; i++) one[i] += 1;
#pragma omp task
            {
                spin_ns(20000);
                count_task();
            }
        }
    }
    REQUIRE(a[0] == kRuns);
    for (int device = 0; device < n_devices; device++) {
        const long n = (kThreads / n_devices) * kRuns, bytes = n * kN * 8;
        expect((int)line, "target", device,
               (struct Expected){.runs = n,
                                 .launches = n,
                                 .to = n,
                                 .to_bytes = bytes,
                                 .from = n,
                                 .from_bytes = bytes,
                                 .allocs = n,
                                 .alloc_bytes = bytes,
                                 .repeated = n - kThreads / n_devices});
    }
    expect((int)in_tasks, "target", 0,
           (struct Expected){.runs = kTasks,
                             .launches = kTasks,
                             .to = kTasks,
                             .to_bytes = kTasks * kN * 8,
                             .allocs = kTasks,
                             .alloc_bytes = kTasks * kN * 8});
    printf("FACTS tasks=%ld regions=%ld\n", n_tasks_run + kTasks, n_regions);
    free(a), free(b);
    return 0;
}
