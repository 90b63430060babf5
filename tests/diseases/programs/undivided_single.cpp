// SPDX-License-Identifier: Apache-2.0
// A single construct around a loop that was meant to be shared. Cured: a loop construct.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<double> results(1500, 1.0);
#pragma omp parallel // DISEASE
    {
#ifdef CURED
#pragma omp for
#else
#pragma omp single
#endif
        for (size_t i = 0; i < results.size(); i++) {
            compute_us(400);
            results[i] += 1.0;
        }
    }
    return results[0] < 0.0;
}
