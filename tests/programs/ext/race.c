// SPDX-License-Identifier: Apache-2.0
/*
 * race: two tasks of different domains write to an unprotected variable, while a third task waits for both.
 * ThreadSanitizer must find the race.
 */
#include <omp_ext.h>

#include "../facts.h"

static volatile long unprotected;

int main(void) {
    long n_here = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task shared(n_here)
    {
        for (int domain = 0; domain < 2; domain++) {
            omp_child_task_affinity(domain);
#pragma omp task shared(n_here)
            {
                add_long(&n_here, 1);
                while (load_long(&n_here) < 2) {} // both at the same time
                for (int i = 0; i < 1000; i++) unprotected++;
            }
        }
#pragma omp taskwait
    }
    return 0;
}
