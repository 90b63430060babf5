// SPDX-License-Identifier: Apache-2.0
// Tasks with dependences on a grid that is wide enough for all threads.
#include "disease.h"

enum { kWidth = 48, kSteps = 60 };
static char done[kSteps + 1][kWidth + 2];

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int step = 1; step <= kSteps; step++) {
        for (int i = 1; i <= kWidth; i++) {
#pragma omp task depend(in : done[step - 1][i - 1], done[step - 1][i], done[step - 1][i + 1])                          \
    depend(out : done[step][i]) firstprivate(step, i)
            {
                compute_us(250);
                done[step][i] = 1;
            }
        }
    }
    return 0;
}
