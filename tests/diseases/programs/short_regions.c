// SPDX-License-Identifier: Apache-2.0
// A parallel loop of a few microseconds, entered again and again.
#include "disease.h"

int main(void) {
    calibrate();
    while (go_on()) {
#pragma omp parallel for // DISEASE
        for (int i = 0; i < 64; i++) compute_us(0.1);
    }
    return 0;
}
