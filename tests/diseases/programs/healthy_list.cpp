// SPDX-License-Identifier: Apache-2.0
// One thread creates many tasks of a quarter of a millisecond.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<double> results(3000);
#pragma omp parallel
#pragma omp single
    for (double &result : results) {
#pragma omp task shared(result)
        {
            compute_us(250);
            result = 1.0;
        }
    }
}
