// SPDX-License-Identifier: Apache-2.0
// One thread prepares for half of the region, and then creates all tasks.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel
#pragma omp single
    {
        compute_us(350e3);
        for (int i = 0; i < 400; i++) {
#pragma omp task // DISEASE
            compute_us(1000);
        }
    }
}
