// SPDX-License-Identifier: Apache-2.0
// Tasks that sleep for nine tenths of their time. Cured: they only compute.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 300; i++) {
#pragma omp task // DISEASE
        {
            compute_us(400);
#ifndef CURED
            usleep(3500); // HOT
#endif
        }
    }
    return 0;
}
