// SPDX-License-Identifier: Apache-2.0
/*
 * Cancelled static worksharing loops, with tasks before and after them. None is dynamic: libomp never releases the
 * descriptor of a cancelled dynamic loop, and asserts or hangs at a later loop. Needs OMP_CANCELLATION=true.
 */
#include <omp.h>

#include "../facts.h"

enum { kIterations = 100000, kLoops = 10 };

int main(void) {
    long found = 0, n_iterations = 0, n_threads = 0;
    REQUIRE(omp_get_cancellation());
    for (int loop = 0; loop < kLoops; loop++) {
#pragma omp parallel shared(found, n_iterations, n_threads)
        {
#pragma omp master
            {
                count_region();
                n_threads = omp_get_num_threads();
            }
#pragma omp task
            count_task();
#pragma omp for schedule(static, 16)
            for (int i = 0; i < kIterations; i++) {
                add_long(&n_iterations, 1);
                if (i == 1000) {
                    add_long(&found, 1);
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
#pragma omp task
            count_task();
        }
    }
    REQUIRE(found == kLoops);
    REQUIRE(n_iterations < (long)kLoops * kIterations);
    REQUIRE(n_tasks_run == 2 * kLoops * n_threads);
    printf("found %ld\n", found);
    print_facts();
    return 0;
}
