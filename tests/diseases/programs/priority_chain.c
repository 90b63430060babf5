// SPDX-License-Identifier: Apache-2.0
// A chain of tasks has a lower priority than many independent ones, and so starts last. Cured: a higher one.
#include "disease.h"

int main(void) {
    static int link;
    calibrate();
#ifdef CURED
    const int of_chain = 5, of_others = 0;
#else
    const int of_chain = 0, of_others = 5;
#endif
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 400; i++) {
#pragma omp task priority(of_others)
        compute_us(900);
#pragma omp task depend(inout : link) priority(of_chain) // DISEASE
        compute_us(900);
    }
    return 0;
}
