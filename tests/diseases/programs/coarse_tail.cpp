// SPDX-License-Identifier: Apache-2.0
// Many short tasks, and one that is longer than all of them together.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<double> lengths_us(200, 600.0);
    lengths_us.push_back(400e3);
#pragma omp parallel
#pragma omp single
    for (double length_us : lengths_us) {
#pragma omp task firstprivate(length_us) // DISEASE
        compute_us(length_us);
    }
}
