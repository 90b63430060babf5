// SPDX-License-Identifier: Apache-2.0
// Each thread allocates its buffer once, and touches all of it in every step.
#include "disease.h"
#include <string.h>

enum { kBytes = 8 << 20 };

int main(void) {
    calibrate();
#pragma omp parallel
    {
        char *buffer = malloc(kBytes);
        if (!buffer) abort();
        for (int step = 0; step < 400 / omp_get_num_threads(); step++) {
            memset(buffer, step, kBytes);
            compute_us(1000);
        }
        free(buffer);
    }
    return 0;
}
