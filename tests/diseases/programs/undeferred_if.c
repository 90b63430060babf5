// SPDX-License-Identifier: Apache-2.0
// An if clause that is never true: the thread that creates the tasks runs them all. Cured: it is true.
#include "disease.h"

int main(void) {
#ifdef CURED
    const int large = -1;
#else
    const int large = 1000000;
#endif
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 500; i++) {
#pragma omp task if (i > large) // DISEASE
        compute_us(1000);
    }
    return 0;
}
