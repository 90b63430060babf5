// SPDX-License-Identifier: Apache-2.0
// One region with a work-sharing loop of a few microseconds in each step, and its barrier.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
    for (int step = 0; step < 30000; step++) {
#pragma omp for schedule(static) // DISEASE
        for (int i = 0; i < 32; i++) compute_us(0.2);
    }
}
