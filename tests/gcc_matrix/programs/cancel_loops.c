// SPDX-License-Identifier: Apache-2.0
// Cancelled loops, whose results do not depend on which thread is first.
// environment: OMP_CANCELLATION=true
#include <omp.h>
#include <stdio.h>

int main(void) {
    int n_after = 0, n_all = 0;
    long found = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 1000; i++) {
            if (i < omp_get_num_threads()) {
#pragma omp atomic
                found += i + 1;
            }
#pragma omp cancel for
#pragma omp cancellation point for
#pragma omp atomic
            n_after++;
        }
    }
    printf("static loop %d, %d\n", found > 0, n_after);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 1000; i++) {
#pragma omp cancel for
#pragma omp atomic
        n_after++;
    }
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (unsigned long long i = 0; i < 1000; i++) {
#pragma omp cancel for if (i < 1000)
#pragma omp atomic
            n_after++;
        }
    }
    printf("dynamic loops %d\n", n_after);
#pragma omp parallel
    {
#pragma omp for schedule(dynamic) reduction(+ : n_all)
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (i < 0)
            n_all++;
        }
    }
    printf("not cancelled %d\n", n_all);
    return 0;
}
