// SPDX-License-Identifier: Apache-2.0
// Two levels of regions that share the threads: a group per half of the input, and inside each group its threads.
#include "disease.h"

int main() {
    calibrate();
    omp_set_max_active_levels(2);
    const int n = omp_get_max_threads();
    const int groups = n % 2 == 0 ? 2 : 1;
#pragma omp parallel for num_threads(groups)
    for (int group = 0; group < 2; group++) {
#pragma omp parallel for num_threads(n / groups) schedule(dynamic, 4)
        for (int i = 0; i < 400; i++) compute_us(800);
    }
}
