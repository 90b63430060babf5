// SPDX-License-Identifier: Apache-2.0
// A wavefront by a doacross loop over rows: each element waits for the end of the row above. Cured: for its upper
// neighbour.
#include "disease.h"

#include <vector>

int main() {
    constexpr int kRows = 40, kColumns = 40;
    std::vector<double> grid((kRows + 1) * (kColumns + 1), 1.0);
    calibrate();
#ifdef CURED
#pragma omp parallel for ordered(2) schedule(static, 1)
#else
#pragma omp parallel for ordered(1) schedule(static, 1)
#endif
    for (int row = 1; row <= kRows; row++) {
#ifndef CURED
#pragma omp ordered depend(sink : row - 1) // DISEASE
#endif
        for (int column = 1; column <= kColumns; column++) {
#ifdef CURED
#pragma omp ordered depend(sink : row - 1, column)
#endif
            compute_us(350);
            double *cell = &grid[row * (kColumns + 1) + column];
            *cell += cell[-kColumns - 1];
#ifdef CURED
#pragma omp ordered depend(source)
#endif
        }
#ifndef CURED
#pragma omp ordered depend(source)
#endif
    }
    return grid[0] < 0.0;
}
