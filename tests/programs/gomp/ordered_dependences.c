// SPDX-License-Identifier: Apache-2.0
// Two nested loops whose iterations wait for their neighbours, in teams of one and of two threads.
#include <stdio.h>

static int paths(int n_threads) {
    int n[10][10] = {{0}};
#pragma omp parallel for ordered(2) num_threads(n_threads)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            n[i][j] = 1 + (i ? n[i - 1][j] : 0) + (j ? n[i][j - 1] : 0);
#pragma omp ordered depend(source)
        }
    return n[9][9];
}

static unsigned long long sum(int n_threads) {
    unsigned long long sums[50] = {0};
#pragma omp parallel for ordered(1) num_threads(n_threads) schedule(dynamic)
    for (unsigned long long i = 1; i < 50; i++) {
#pragma omp ordered depend(sink : i - 1)
        sums[i] = i + sums[i - 1];
#pragma omp ordered depend(source)
    }
    return sums[49];
}

int main(void) {
    printf("%d %d %llu %llu\n", paths(1), paths(2), sum(1), sum(2));
    return 0;
}
