// SPDX-License-Identifier: Apache-2.0
// Scopes with reductions: one in which tasks take part, and one without tasks.
#include <stdio.h>

int main(void) {
    long sum = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp scope reduction(task, + : sum)
        {
            sum += 1;
#pragma omp task in_reduction(+ : sum)
            sum += 10;
        }
#pragma omp scope reduction(+ : sum)
        sum += 100;
    }
    printf("%ld\n", sum);
    return 0;
}
