// SPDX-License-Identifier: Apache-2.0
// A sweep over cells: each reads its left neighbour, so the tasks form a chain.
#include "disease.h"

#include <vector>

int main() {
    static double cells[801];
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 1; i <= 800; i++) {
#pragma omp task depend(in : cells[i - 1]) depend(out : cells[i]) firstprivate(i) // DISEASE
        {
            compute_us(600);
            cells[i] = cells[i - 1] + 1.0;
        }
    }
    return cells[800] < 0.0;
}
