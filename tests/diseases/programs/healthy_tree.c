// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers with a cut-off: tasks of a fair size.
#include "disease.h"

static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static long fib_tasks(int n) {
    long a, b;
    if (n < 26) return fib(n);
#pragma omp task shared(a) firstprivate(n)
    a = fib_tasks(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = fib_tasks(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    long sum = 0;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 20; step++) sum += fib_tasks(36);
    return sum < 0;
}
