// SPDX-License-Identifier: Apache-2.0
// Each row needs the whole row before it, so the threads of the loop work one after the other.
#include "disease.h"

enum { kRows = 64 };

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp for ordered(1) schedule(static, 1)
    for (int row = 0; row < kRows; row++) {
#pragma omp ordered depend(sink : row - 1) // DISEASE
        compute_us(10000);
#pragma omp ordered depend(source)
    }
    return 0;
}
