// SPDX-License-Identifier: Apache-2.0
/*
 * Unnamed and named critical sections, inside tasks and implicit tasks, contended; and atomic updates.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long unnamed = 0, named = 0, atomic = 0, n_threads = 0;
#pragma omp parallel shared(unnamed, named, atomic, n_threads)
    {
#pragma omp master
        {
            count_region();
            n_threads = omp_get_num_threads();
        }
        for (int i = 0; i < 50; i++) {
#pragma omp task shared(unnamed, atomic)
            {
#pragma omp critical
                {
                    spin_ns(500);
                    unnamed++;
                }
#pragma omp atomic
                atomic++;
                count_task();
            }
#pragma omp critical(counter)
            named++;
        }
#pragma omp barrier
#pragma omp critical
        unnamed++;
    }
    REQUIRE(named == 50 * n_threads && unnamed == 51 * n_threads && atomic == 50 * n_threads);
    REQUIRE(n_tasks_run == 50 * n_threads);
    printf("per thread %ld %ld\n", unnamed / n_threads, named / n_threads);
    print_facts();
    return 0;
}
