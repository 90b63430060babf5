// SPDX-License-Identifier: Apache-2.0
// missing_wait: a sum in tasks that uses the sum of the left half before its task is complete, as in
// docs/other-results.md. With -DMENDED it waits.
#include <stdio.h>

#define N 4096

static double sum(const double *x, long n) {
    double left = 0, right = 0;
    if (n <= 64) {
        for (long i = 0; i < n; i++) left += x[i];
        return left;
    }
#pragma omp task shared(left)
    left = sum(x, n / 2);
    right = sum(x + n / 2, n - n / 2);
#ifdef MENDED
#pragma omp taskwait
#endif
    return left + right;
}

int main(void) {
    static double x[N];
    double total = 0;
    for (long i = 0; i < N; i++) x[i] = 1;
#pragma omp parallel
#pragma omp single
    total = sum(x, N);
    printf("%.0f\n", total);
    return 0;
}
