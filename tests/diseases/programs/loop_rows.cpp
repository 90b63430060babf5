// SPDX-License-Identifier: Apache-2.0
// A static loop over rows; the first tenth of them takes ten times as long. Cured: a dynamic schedule.
#include "disease.h"

int main() {
    calibrate();
    for (int step = 0; step < 10; step++) {
#ifdef CURED
#pragma omp parallel for schedule(dynamic, 10)
#else
#pragma omp parallel for schedule(static) // DISEASE
#endif
        for (int row = 0; row < 1000; row++) compute_us(row < 100 ? 400 : 40);
    }
}
