// SPDX-License-Identifier: Apache-2.0
/* Prints how many threads ran iterations of the first taskloop: 1,000 empty iterations in the runtime's own chunks. */
#include <omp.h>

#include "../facts.h"

enum { kIterations = 1000, kMaxThreads = 64 };

int main(void) {
    static int ran_on[kMaxThreads];
#pragma omp parallel
    {
#pragma omp single
        {
#pragma omp taskloop
            for (int i = 0; i < kIterations; i++) ran_on[omp_get_thread_num() % kMaxThreads] = 1;
        }
    }
    int n_threads = 0;
    for (int i = 0; i < kMaxThreads; i++) n_threads += ran_on[i];
    REQUIRE(n_threads > 0);
    printf("%d\n", n_threads);
    return 0;
}
