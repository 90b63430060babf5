// SPDX-License-Identifier: Apache-2.0
// The last value that sections assigned under a condition.
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argv;
    int last;
#pragma omp parallel sections lastprivate(conditional : last)
    {
        if (argc > 0) last = 1;
#pragma omp section
        if (argc > 5) last = 2;
    }
    printf("%d\n", last);
    return 0;
}
