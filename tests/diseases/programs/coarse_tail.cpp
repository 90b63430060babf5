// SPDX-License-Identifier: Apache-2.0
// Many short tasks, and a long one that is created last.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<double> lengths_us(200, 1500.0);
    lengths_us.push_back(250e3);
#pragma omp parallel
#pragma omp single
    for (double length_us : lengths_us) {
#pragma omp task firstprivate(length_us) // DISEASE
        compute_us(length_us);
    }
}
