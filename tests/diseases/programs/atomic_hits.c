// SPDX-License-Identifier: Apache-2.0
// A loop that counts its hits in one variable by atomic updates. Cured: by a reduction.
#include "disease.h"

int main(void) {
    long hits = 0;
    calibrate();
#ifdef CURED
#pragma omp parallel for reduction(+ : hits)
#else
#pragma omp parallel for
#endif
    for (unsigned i = 0; i < 180000000; i++) {
        if ((i * 2654435761U >> 28) == 3) continue;
#ifndef CURED
#pragma omp atomic // DISEASE
#endif
        hits++; // HOT
    }
    return hits < 0;
}
