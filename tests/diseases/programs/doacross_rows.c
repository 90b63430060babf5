// SPDX-License-Identifier: Apache-2.0
// Each row needs the whole row before it, so the threads of the loop work one after the other. Cured: only the end of
// a row needs the row before it.
#include "disease.h"

enum { kRows = 64 };

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp for ordered(1) schedule(static, 1)
    for (int row = 0; row < kRows; row++) {
#ifdef CURED
        compute_us(9500);
#endif
#pragma omp ordered depend(sink : row - 1) // DISEASE
#ifdef CURED
        compute_us(500);
#else
        compute_us(10000);
#endif
#pragma omp ordered depend(source)
    }
    return 0;
}
