// SPDX-License-Identifier: Apache-2.0
// Cancel directives without active cancellation: nothing is cancelled.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int n = 0;
#pragma omp parallel
    {
#pragma omp cancel parallel
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for
#pragma omp cancellation point for
#pragma omp atomic
            n++;
        }
#pragma omp sections
        {
            {
#pragma omp cancel sections
#pragma omp atomic
                n += 1000;
            }
#pragma omp section
#pragma omp atomic
            n += 1000;
        }
#pragma omp masked
#pragma omp taskgroup
#pragma omp task
        {
#pragma omp cancel taskgroup
#pragma omp atomic
            n += 10000;
        }
    }
    printf("%d, cancellation %d\n", n, omp_get_cancellation());
    return 0;
}
