// SPDX-License-Identifier: Apache-2.0
// The last value that an ordered loop assigned under a condition.
#include <stdio.h>

unsigned long long one = 1; // a variable: with known values, gcc would use signed bounds

int main(void) {
    int last = -1, n = 0;
#pragma omp parallel for ordered lastprivate(conditional : last)
    for (unsigned long long i = one - 1; i < 100 * one; i++) {
#pragma omp ordered
        n++;
        if (i % 7 == 0) last = (int)i;
    }
    printf("%d %d\n", last, n);
    return 0;
}
