// SPDX-License-Identifier: Apache-2.0
// Each of two threads uses 6 MB of its stack, within the usual limit of 8 MB.
#include <stdio.h>
#include <string.h>

int main(void) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        volatile char large[6 << 20];
        memset((char *)large, 1, sizeof large);
        sum += large[sizeof large / 2];
    }
    printf("%d\n", sum);
    return 0;
}
