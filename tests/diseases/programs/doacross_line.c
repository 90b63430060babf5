// SPDX-License-Identifier: Apache-2.0
// Each iteration waits at its start for the one before, although only its end needs it. Cured: it waits at its end.
#include "disease.h"

int main(void) {
    static double sums[1201];
    calibrate();
#pragma omp parallel for ordered(1) schedule(static, 1)
    for (int i = 1; i <= 1200; i++) {
#ifdef CURED
        compute_us(500);
#pragma omp ordered depend(sink : i - 1)
#else
#pragma omp ordered depend(sink : i - 1) // DISEASE
        compute_us(500);
#endif
        sums[i] = sums[i - 1] + 1.0;
#pragma omp ordered depend(source)
    }
    return sums[1200] != 1200.0;
}
