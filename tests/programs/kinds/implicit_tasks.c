// SPDX-License-Identifier: Apache-2.0
/*
 * Every thread of the team creates tasks; some run in the barrier at the end of the region.
 */
#include <omp.h>

#include "../facts.h"

int main(void) {
    long n_threads = 0;
#pragma omp parallel shared(n_threads)
    {
#pragma omp master
        {
            count_region();
            n_threads = omp_get_num_threads();
        }
        for (int i = 0; i < 50; i++) {
#pragma omp task
            {
                spin_ns(1000);
                count_task();
            }
            if (i % 10 == 0) {
#pragma omp taskwait
            }
        }
    }
    REQUIRE(n_tasks_run == 50 * n_threads);
    printf("50 a thread\n");
    print_facts();
    return 0;
}
