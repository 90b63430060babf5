// SPDX-License-Identifier: Apache-2.0
// One task creates tasks in phases, and waits for each phase: 3 with a taskwait, 2 with a taskgroup. One of the tasks
// waits for two children. `phases N` runs on a team of N threads.
#include <stdlib.h>

static volatile int sum;

static void phase(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp task
        sum = sum + i;
    }
}

int main(int argc, char **argv) {
#pragma omp parallel num_threads(argc > 1 ? atoi(argv[1]) : 1)
#pragma omp single
    {
#pragma omp task
        {
            phase(2);
#pragma omp taskwait
        }
        for (int i = 0; i < 3; i++) {
            phase(4);
#pragma omp taskwait
        }
        for (int i = 0; i < 2; i++) {
#pragma omp taskgroup
            phase(3);
        }
    }
    return 0;
}
