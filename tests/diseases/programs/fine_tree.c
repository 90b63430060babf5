// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers with a task in every call and no cut-off. Cured: calls below 18 create no tasks.
#include "disease.h"

#ifdef CURED
enum { kCutOff = 18 };
#else
enum { kCutOff = 2 };
#endif

static long plain_fib(int n) {
    if (n < 2) {
        compute_us(0.1);
        return n;
    }
    return plain_fib(n - 1) + plain_fib(n - 2);
}

static long fib(int n) {
    long a, b;
    if (n < kCutOff) return plain_fib(n);
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
    sum = fib(29);
    return sum < 0;
}
