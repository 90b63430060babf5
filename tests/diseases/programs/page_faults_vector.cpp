// SPDX-License-Identifier: Apache-2.0
// Every iteration has a large vector of its own. The allocator returns its memory to the system each time.
// Cured: each thread reuses its vector.
#include "disease.h"
#include <sys/prctl.h>
#include <vector>

static double filtered(int row) {
#ifdef CURED
    thread_local std::vector<double> image;
    image.assign(5'000'000, row);
#else
    std::vector<double> image(5'000'000, row); // HOT
#endif
    compute_us(5000);
    return image[static_cast<size_t>(row)];
}

int main() {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // small pages, as on most systems
    calibrate();
    double sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum) // DISEASE
    for (int row = 0; row < 30; row++) sum += filtered(row);
    return sum < 0;
}
