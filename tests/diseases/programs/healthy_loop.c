// SPDX-License-Identifier: Apache-2.0
// A static loop of equal iterations.
#include "disease.h"

int main(void) {
    calibrate();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 9600; i++) compute_us(80);
    return 0;
}
