// SPDX-License-Identifier: Apache-2.0
// A dynamic loop whose last iteration takes as long as all others. Cured: that iteration is divided.
#include "disease.h"

int main(void) {
    calibrate();
#ifdef CURED
    enum { kLast = 350 };
#else
    enum { kLast = 1 };
#endif
#pragma omp parallel for schedule(dynamic) // DISEASE
    for (int i = 0; i < 350 + kLast; i++) compute_us(i < 350 ? 1000 : 350e3 / kLast);
    return 0;
}
