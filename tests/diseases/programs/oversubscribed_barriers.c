// SPDX-License-Identifier: Apache-2.0
// Four times as many threads as processors, and barriers at which they wait for each other.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel num_threads(4 * omp_get_num_procs()) // DISEASE
    for (int step = 0; step < 400; step++) {
        compute_us(100);
#pragma omp barrier
    }
    return 0;
}
