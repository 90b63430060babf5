// SPDX-License-Identifier: Apache-2.0
// Jacobi iterations in one region: two loops per step, and the reduction of the residual.
#include "disease.h"

#include <math.h>

enum { kSize = 1000 };
static double grid[2][kSize][kSize];

int main(void) {
    double residual = 0.0;
#pragma omp parallel
    for (int step = 0; step < 200; step++) {
        double(*const old)[kSize] = grid[step % 2], (*const new)[kSize] = grid[1 - step % 2];
#pragma omp for schedule(static) reduction(max : residual)
        for (int i = 1; i < kSize - 1; i++) {
            for (int j = 1; j < kSize - 1; j++) {
                new[i][j] = 0.25 * (1e-3 + old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1]);
                residual = fmax(residual, fabs(new[i][j] - old[i][j]));
            }
        }
    }
    return residual < 0.0;
}
