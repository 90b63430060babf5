// SPDX-License-Identifier: Apache-2.0
// Cancelled sections, whose results do not depend on which thread is first.
// environment: OMP_CANCELLATION=true
#include <omp.h>
#include <stdio.h>

int main(void) {
    int n_after = 0, n_sections = 0;
#pragma omp parallel
    {
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                n_after++;
            }
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                n_after++;
            }
        }
#pragma omp atomic
        n_sections++;
    }
    printf("sections %d %d\n", n_sections == omp_get_max_threads(), n_after);
    return 0;
}
