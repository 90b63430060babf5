// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers with a task for every call and no cut-off.
#include "disease.h"

static long fib(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a) firstprivate(n) // DISEASE
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    long sum = 0;
    calibrate();
#pragma omp parallel
#pragma omp single
    while (go_on()) sum += fib(20);
    return sum < 0;
}
