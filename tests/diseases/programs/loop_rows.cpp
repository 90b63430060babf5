// SPDX-License-Identifier: Apache-2.0
// A loop over rows of which the first tenth are ten times as long, shared in equal parts.
#include "disease.h"

int main() {
    calibrate();
    for (int step = 0; step < 10; step++) {
#pragma omp parallel for schedule(static) // DISEASE
        for (int row = 0; row < 1000; row++) compute_us(row < 100 ? 400 : 40);
    }
}
