// SPDX-License-Identifier: Apache-2.0
// Many short tasks, and one that is longer than all of them together. Cured: it is divided.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<double> lengths_us(200, 600.0);
#ifdef CURED
    lengths_us.insert(lengths_us.end(), 400, 1e3);
#else
    lengths_us.push_back(400e3);
#endif
#pragma omp parallel
#pragma omp single
    for (double length_us : lengths_us) {
#pragma omp task firstprivate(length_us) // DISEASE
        compute_us(length_us);
    }
}
