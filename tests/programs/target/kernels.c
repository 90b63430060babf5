// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels with regions of their own between regions of the host, and one inside a region of the host. A host plugin
 * runs them on threads of the process. The kernels take known times.
 */
#include "expected.h"

enum { kRuns = 5, kKernelNanoseconds = 4000000, kHostNanoseconds = 2000000 };

#pragma omp declare target
static long long device_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
#pragma omp end declare target

int main(void) {
    int line = 0;
    for (int run = 0; run < kRuns; run++) {
        line = __LINE__ + 1;
#pragma omp target teams distribute parallel for num_teams(1) thread_limit(2)
        for (int i = 0; i < 2; i++) {
            const long long end = device_now() + kKernelNanoseconds;
            while (device_now() < end) {}
        }
#pragma omp parallel num_threads(2)
        {
#pragma omp masked
            count_region();
            spin_ns(kHostNanoseconds);
        }
    }
    expect(line, "target", 0, (struct Expected){.runs = kRuns, .launches = kRuns});
    int inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp masked
    {
        count_region();
        inside = __LINE__ + 1;
#pragma omp target parallel num_threads(2)
        {
            const long long end = device_now() + kKernelNanoseconds;
            while (device_now() < end) {}
        }
    }
    expect(inside, "target", 0, (struct Expected){.runs = 1, .launches = 1});
    printf("KERNEL_NS %d\n", kKernelNanoseconds);
    print_facts();
    return 0;
}
