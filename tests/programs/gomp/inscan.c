// SPDX-License-Identifier: Apache-2.0
// A prefix sum by an inscan reduction.
#include <stdio.h>

int main(void) {
    int values[100], sums[100], sum = 0;
    for (int i = 0; i < 100; i++) values[i] = i;
#pragma omp parallel for reduction(inscan, + : sum) num_threads(2)
    for (int i = 0; i < 100; i++) {
        sum += values[i];
#pragma omp scan inclusive(sum)
        sums[i] = sum;
    }
    printf("%d %d\n", sums[50], sums[99]);
    return 0;
}
