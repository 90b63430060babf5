// SPDX-License-Identifier: Apache-2.0
// Newton steps for the roots of a vector, some 50 ns per element, whose chunks are single elements. Cured: chunks of 5000.
#include "disease.h"

#include <math.h>

#ifdef CURED
#define CHUNK 5000
#else
#define CHUNK 1
#endif
enum { kLength = 100000 };
static double x[kLength], y[kLength];

static double root(double square) {
    double estimate = square + 1.0;
    while (fabs(estimate * estimate - square) > 1e-9) estimate = 0.5 * (estimate + square / estimate);
    return estimate;
}

int main(void) {
    calibrate();
    for (int i = 0; i < kLength; i++) x[i] = 0.1 * i;
    for (int step = 0; step < 28 && go_on(); step++) {
#pragma omp parallel for schedule(dynamic, CHUNK) // DISEASE
        for (int i = 0; i < kLength; i++) y[i] = root(x[i]);
    }
    return y[0] < 0.0;
}
