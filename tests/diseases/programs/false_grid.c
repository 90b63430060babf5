// SPDX-License-Identifier: Apache-2.0
// Tasks that update different rows of a grid, and all declare the whole grid. Cured: each declares its row.
#include "disease.h"

enum { kRows = 24, kColumns = 512 };
static double grid[kRows][kColumns];

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 40; step++) {
        for (int row = 0; row < kRows; row++) {
#ifdef CURED
#pragma omp task depend(inout : grid[row]) firstprivate(row)
#else
#pragma omp task depend(inout : grid) firstprivate(row) // DISEASE
#endif
            {
                compute_us(600);
                for (int column = 0; column < kColumns; column++) grid[row][column] += 1.0;
            }
        }
    }
    return grid[0][0] < 0.0;
}
