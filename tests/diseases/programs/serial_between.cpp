// SPDX-License-Identifier: Apache-2.0
// After every parallel step, a serial step takes as long as the parallel step on two threads. Cured: a parallel loop.
#include "disease.h"

int main() {
    calibrate();
    for (int step = 0; step < 30; step++) {
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 200; i++) compute_us(100);
#ifdef CURED
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 100; i++) compute_us(100);
#else
        compute_us(10e3);
#endif
    }
}
