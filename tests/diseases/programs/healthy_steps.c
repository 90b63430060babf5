// SPDX-License-Identifier: Apache-2.0
// Time steps, each a parallel loop of some milliseconds.
#include "disease.h"

int main(void) {
    calibrate();
    for (int step = 0; step < 50; step++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 960; i++) compute_us(16);
    }
    return 0;
}
