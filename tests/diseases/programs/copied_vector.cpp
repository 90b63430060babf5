// SPDX-License-Identifier: Apache-2.0
// A taskloop over queries whose tasks get copies of the points. Cured: they share them.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    std::vector<float> points(40000, 1.0F);
    std::vector<float> nearest(12000);
#pragma omp parallel
#pragma omp single
#ifdef CURED
#pragma omp taskloop grainsize(1) shared(points, nearest)
#else
#pragma omp taskloop grainsize(1) firstprivate(points) shared(nearest) // DISEASE
#endif
    for (size_t i = 0; i < nearest.size(); i++) {
        compute_us(40);
        nearest[i] = points[i];
    }
    return nearest[0] < 0.0F;
}
