// SPDX-License-Identifier: Apache-2.0
// Every iteration has a large vector of its own. The allocator returns its memory to the system each time.
#include "disease.h"
#include <sys/prctl.h>
#include <vector>

static double filtered(int row) {
    std::vector<double> image(5'000'000, row);
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
