// SPDX-License-Identifier: Apache-2.0
// Tasks that sleep for nine tenths of their time.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100 * omp_get_num_threads(); i++) {
#pragma omp task // DISEASE
        {
            compute_us(400);
            usleep(4500);
        }
    }
    return 0;
}
