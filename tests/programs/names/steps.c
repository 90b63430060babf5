// SPDX-License-Identifier: Apache-2.0
// A program with tasks, a named critical section, a loop and inlined work. The recorded run keeps the names and
// source lines of all of them.
#include <stdio.h>

static inline double spin(int n) {
    double x = 1;
    for (int k = 0; k < n; k++) x = x * 1.0000001 + 0.1;
    return x;
}

static double total;

static void add(double x) {
#pragma omp critical(sums)
    total += x;
}

__attribute__((noinline)) static void blocks(int n) {
    for (int k = 0; k < n; k++) {
#pragma omp task firstprivate(k)
        add(spin(300000 + k));
    }
#pragma omp taskwait
}

__attribute__((noinline)) static void rows(int n) {
    for (int k = 0; k < n; k++) {
#pragma omp task firstprivate(k)
        add(spin(200000 - k));
    }
#pragma omp taskwait
}

int main(void) {
#pragma omp parallel
    {
#pragma omp single
        {
            blocks(100);
            rows(100);
        }
#pragma omp for
        for (int k = 0; k < 64; k++) add(spin(100000));
    }
    printf("%g\n", total);
    return 0;
}
