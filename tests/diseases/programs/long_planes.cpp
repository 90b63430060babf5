// SPDX-License-Identifier: Apache-2.0
// A loop over the planes of a grid, one plane more than threads. Cured: over all rows of all planes.
#include "disease.h"

int main() {
    calibrate();
    const int n_planes = omp_get_max_threads() + 1;
    constexpr int kRows = 60;
    const double row_us = 600e3 / n_planes / kRows;
#ifdef CURED
#pragma omp parallel for schedule(dynamic) collapse(2)
#else
#pragma omp parallel for schedule(dynamic) // DISEASE
#endif
    for (int plane = 0; plane < n_planes; plane++) {
        for (int row = 0; row < kRows; row++) compute_us(row_us);
    }
}
