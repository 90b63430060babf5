// SPDX-License-Identifier: Apache-2.0
// A function with a parallel region for a vector of a hundred elements.
#include "disease.h"

#include <vector>

static void scale(std::vector<double> &values) {
#pragma omp parallel for schedule(static) // DISEASE
    for (size_t i = 0; i < values.size(); i++) {
        values[i] *= 1.000001;
        compute_us(0.05);
    }
}

int main() {
    calibrate();
    std::vector<double> values(100, 1.0);
    while (go_on()) scale(values);
}
