// SPDX-License-Identifier: Apache-2.0
// A region in which every thread fills the whole table, because the loop lacks its construct. Cured: it has one.
#include "disease.h"

#include <math.h>

enum { kLength = 400000 };
static double table[kLength], scaled[kLength];

int main(void) {
    calibrate();
#pragma omp parallel // DISEASE
    for (int step = 0; step < 40; step++) {
#ifdef CURED
#pragma omp for
#endif
        for (int i = 0; i < kLength; i++) table[i] = sin(1e-3 * i + step) * cos(1e-3 * i); // HOT
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < kLength; i++) scaled[i] += sqrt(1.0 + table[i] * table[i]);
    }
    return scaled[0] < 0.0;
}
