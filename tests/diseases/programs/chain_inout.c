// SPDX-License-Identifier: Apache-2.0
// Every task depends on the one before through the same variable.
#include "disease.h"

int main(void) {
    double state = 0.0;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1000; i++) {
#pragma omp task depend(inout : state) // DISEASE
        {
            compute_us(500);
            state += 1.0;
        }
    }
    return state < 0.0;
}
