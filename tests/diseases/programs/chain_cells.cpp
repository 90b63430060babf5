// SPDX-License-Identifier: Apache-2.0
// A sweep over cells: each reads its left neighbour, so the tasks form a chain. Cured: eight
// independent rows.
#include "disease.h"

int main() {
#ifdef CURED
    constexpr int kRows = 8;
#else
    constexpr int kRows = 1;
#endif
    constexpr int kColumns = 800 / kRows;
    static double cells[kRows][kColumns + 1];
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 1; i <= kColumns; i++) {
        for (auto &row : cells) {
            double *cell = &row[i];
#pragma omp task depend(in : cell[-1]) depend(out : cell[0]) firstprivate(cell) // DISEASE
            {
                compute_us(600);
                cell[0] = cell[-1] + 1.0;
            }
        }
    }
    return cells[0][kColumns] < 0.0;
}
