// SPDX-License-Identifier: Apache-2.0
// An uneven loop with a dynamic schedule.
#include "disease.h"

int main() {
    calibrate();
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < 4000; i++) compute_us(100 + i % 7 * 40);
}
