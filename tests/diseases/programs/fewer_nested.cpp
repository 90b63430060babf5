// SPDX-License-Identifier: Apache-2.0
// A library function with a parallel loop, called by one thread of a region: its own region has one thread only.
// Cured: it is called outside of a region.
#include "disease.h"

#include <vector>

static void solve(std::vector<double> &values) {
#pragma omp parallel for schedule(static) // DISEASE
    for (size_t i = 0; i < values.size(); i++) {
        compute_us(300);
        values[i] += 1.0;
    }
}

int main() {
    calibrate();
    std::vector<double> values(2000);
#ifndef CURED
#pragma omp parallel
#pragma omp single
#endif
    solve(values);
    return values[0] < 0.0;
}
