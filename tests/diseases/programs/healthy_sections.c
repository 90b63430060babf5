// SPDX-License-Identifier: Apache-2.0
// Eight equal sections, so that every even number of threads up to eight shares them evenly.
#include "disease.h"

static void transform(double phase) { compute_us(85e3 + phase * 0.0); }

int main(void) {
    calibrate();
#pragma omp parallel sections
    {
#pragma omp section
        transform(0.0);
#pragma omp section
        transform(0.1);
#pragma omp section
        transform(0.2);
#pragma omp section
        transform(0.3);
#pragma omp section
        transform(0.4);
#pragma omp section
        transform(0.5);
#pragma omp section
        transform(0.6);
#pragma omp section
        transform(0.7);
    }
    return 0;
}
