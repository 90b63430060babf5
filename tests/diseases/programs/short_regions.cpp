// SPDX-License-Identifier: Apache-2.0
// A function with a parallel region for a vector of a hundred elements. Cured: the caller divides its
// vectors among threads.
#include "disease.h"

#include <vector>

static void scale(std::vector<double> &values) {
#ifndef CURED
#pragma omp parallel for schedule(static) // DISEASE
#endif
    for (size_t i = 0; i < values.size(); i++) {
        values[i] *= 1.000001;
        compute_us(0.05);
    }
}

int main() {
    calibrate();
    std::vector<std::vector<double>> all(400, std::vector<double>(100, 1.0));
#ifdef CURED
#pragma omp parallel for schedule(static)
#endif
    for (size_t i = 0; i < all.size(); i++) {
        for (int step = 0; step < 300 && go_on(); step++) scale(all[i]);
    }
}
