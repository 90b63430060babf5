// SPDX-License-Identifier: Apache-2.0
// Tasks for queries, each with a copy of the points. Cured: they share the points.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<float> points(100000, 1.0F);
    std::vector<float> nearest(15000);
#pragma omp parallel
#pragma omp single
    for (size_t i = 0; i < nearest.size(); i++) {
#ifdef CURED
#pragma omp task shared(points, nearest)
#else
#pragma omp task firstprivate(points) shared(nearest) // DISEASE
#endif
        {
            compute_us(30);
            nearest[i] = points[i];
        }
    }
    return nearest[0] < 0.0F;
}
