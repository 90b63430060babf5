// SPDX-License-Identifier: Apache-2.0
// A static loop whose iterations grow: the last thread has most of the work.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel for schedule(static) // DISEASE
    for (int i = 0; i < 1200; i++) compute_us(i);
    return 0;
}
