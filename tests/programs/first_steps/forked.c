// SPDX-License-Identifier: Apache-2.0
// Computes, forks, and uses OpenMP only in the child.
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSize = 1 << 22 };
static double sum;

__attribute__((noinline)) static void before_fork(void) {
    for (int i = 0; i < kSize; i++) sum += sqrt(i) + sin(i);
}

int main(void) {
    before_fork();
    if (fork()) return wait(NULL) < 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < kSize; i++) sum += sqrt(i) + cos(i);
    printf("%g\n", sum);
    return 0;
}
