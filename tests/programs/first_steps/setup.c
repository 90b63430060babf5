// SPDX-License-Identifier: Apache-2.0
// Fills a table before its first use of OpenMP; that takes longer than all regions.
#include <math.h>
#include <stdio.h>

enum { kSize = 1 << 20, kRounds = 16 };
static double table[kSize];

__attribute__((noinline)) static void set_up(void) {
    for (int round = 0; round < kRounds; round++)
        for (int i = 0; i < kSize; i++) table[i] = sqrt(table[i] + i) + sin(i + round); // HOT
}

int main(void) {
    double sum = 0;
    set_up();
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < kSize; i++) sum += sqrt(table[i]) + cos(table[i]);
    printf("%g\n", sum);
    return 0;
}
