// SPDX-License-Identifier: Apache-2.0
// On two threads, half of the time passes before the program's only region. Cured: another region does this work.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 300; i++) compute_us(1000);
#else
    compute_us(300e3);
#endif
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 600; i++) compute_us(1000);
    return 0;
}
