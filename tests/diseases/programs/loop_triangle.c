// SPDX-License-Identifier: Apache-2.0
// A static loop whose iterations grow: the last thread has the most work. Cured: the threads take iterations in turn.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
#pragma omp parallel for schedule(static, 1)
#else
#pragma omp parallel for schedule(static) // DISEASE
#endif
    for (int i = 0; i < 1200; i++) compute_us(i);
    return 0;
}
