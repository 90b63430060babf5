// SPDX-License-Identifier: Apache-2.0
// Every task depends on the one before through the same variable. Cured: sixteen partial results.
#include "disease.h"

int main(void) {
#ifdef CURED
    enum { kParts = 16 };
#else
    enum { kParts = 1 };
#endif
    double states[kParts] = {0.0};
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1000; i++) {
        double *state = &states[i % kParts];
#pragma omp task depend(inout : *state) firstprivate(state) // DISEASE
        {
            compute_us(500);
            *state += 1.0;
        }
    }
    return states[0] < 0.0;
}
