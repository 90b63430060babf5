// SPDX-License-Identifier: Apache-2.0
// A taskloop whose tasks are single iterations of a fifth of a microsecond. Cured: a thousand iterations.
#include "disease.h"

int main() {
#ifdef CURED
    constexpr int kGrain = 1000;
#else
    constexpr int kGrain = 1;
#endif
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 10 && go_on(); step++) {
#pragma omp taskloop grainsize(kGrain) // DISEASE
        for (int i = 0; i < 80000; i++) compute_us(0.2);
    }
}
