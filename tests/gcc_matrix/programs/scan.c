// SPDX-License-Identifier: Apache-2.0
// Prefix sums by inscan reductions, over loops with signed and with unsigned bounds.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds

int main(void) {
    int a[100], sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < 100; i++) {
        sum += i;
#pragma omp scan inclusive(sum)
        a[i] = sum;
    }
    int wide = 0, b[100];
#pragma omp parallel for reduction(inscan, + : wide)
    for (unsigned long long i = one - 1; i < 100 * one; i++) {
        b[i] = wide;
#pragma omp scan exclusive(wide)
        wide += (int)i;
    }
    printf("%d %d %d\n", a[50], a[99], b[99]);
    return 0;
}
