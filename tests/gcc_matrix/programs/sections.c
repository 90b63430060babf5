// SPDX-License-Identifier: Apache-2.0
// Sections, in a region and combined with it.
#include <stdio.h>

int main(void) {
    int n[4] = {0}, last = 0;
#pragma omp parallel
    {
#pragma omp sections
        {
            n[0]++;
#pragma omp section
            n[1]++;
#pragma omp section
            n[2]++;
        }
#pragma omp sections nowait lastprivate(last)
        {
            last = 1;
#pragma omp section
            last = 2;
        }
    }
#pragma omp parallel sections
    {
        n[3] += 10;
#pragma omp section
#pragma omp atomic
        n[0] += 10;
    }
    printf("%d %d %d %d, last %d\n", n[0], n[1], n[2], n[3], last);
    return 0;
}
