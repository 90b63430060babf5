// SPDX-License-Identifier: Apache-2.0
// The last value that a loop assigned under a condition.
#include <stdio.h>

int main(void) {
    int last = -1;
#pragma omp parallel for lastprivate(conditional : last) schedule(dynamic)
    for (int i = 0; i < 100; i++)
        if (i % 7 == 0) last = i;
    printf("%d\n", last);
    return 0;
}
