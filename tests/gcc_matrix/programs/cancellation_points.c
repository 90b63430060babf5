// SPDX-License-Identifier: Apache-2.0
// Loops and sections with cancellation points that nothing cancels, although cancellation is active.
// environment: OMP_CANCELLATION=true
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argv;
    int n = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel
        {
#pragma omp for schedule(dynamic) reduction(+ : n)
            for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (argc > 5)
#pragma omp cancellation point for
                n++;
            }
#pragma omp sections
            {
                {
#pragma omp cancel sections if (argc > 5)
#pragma omp atomic
                    n += 10000;
                }
#pragma omp section
                {
#pragma omp cancellation point sections
#pragma omp atomic
                    n += 10000;
                }
            }
        }
    }
    printf("%d\n", n);
    return 0;
}
