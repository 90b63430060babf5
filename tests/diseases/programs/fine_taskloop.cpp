// SPDX-License-Identifier: Apache-2.0
// A taskloop whose tasks are single iterations of a fifth of a microsecond.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    while (go_on()) {
#pragma omp taskloop grainsize(1) // DISEASE
        for (int i = 0; i < 2000; i++) compute_us(0.2);
    }
}
