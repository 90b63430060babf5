// SPDX-License-Identifier: Apache-2.0
// Sections whose tasks take part in a reduction.
#include <stdio.h>

int main(void) {
    int sum = 0, again = 0;
#pragma omp parallel
    {
#pragma omp sections reduction(task, + : sum)
        {
#pragma omp task in_reduction(+ : sum)
            sum += 1;
#pragma omp section
            {
#pragma omp task in_reduction(+ : sum)
                sum += 10;
                sum += 100;
            }
        }
    }
#pragma omp parallel sections reduction(task, + : again)
    {
#pragma omp task in_reduction(+ : again)
        again += 1;
#pragma omp section
#pragma omp task in_reduction(+ : again)
        again += 10;
    }
    printf("%d %d\n", sum, again);
    return 0;
}
