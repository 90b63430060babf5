// SPDX-License-Identifier: Apache-2.0
// Sixty passes over arrays that no cache holds. Cured: sixty passes over each piece that fits.
#include "disease.h"

enum { kLength = 6 << 20, kPasses = 60 };
static double a[kLength], b[kLength], c[kLength];

int main(void) {
    calibrate();
#pragma omp parallel for
    for (int i = 0; i < kLength; i++) a[i] = b[i] = c[i] = 1.0;
#ifdef CURED
    enum { kPiece = 1024 };
#else
    enum { kPiece = kLength };
#endif
#pragma omp parallel // DISEASE
    for (int first = 0; first < kLength; first += kPiece) {
#ifdef CURED
        if (first / kPiece % omp_get_num_threads() != omp_get_thread_num()) continue;
        const int from = first, to = first + kPiece;
#else
        const int n = omp_get_num_threads(), me = omp_get_thread_num();
        const int from = kLength / n * me, to = kLength / n * (me + 1);
#endif
        for (int pass = 0; pass < kPasses; pass++) {
            for (int i = from; i < to; i++) a[i] = b[i] + 0.5 * c[i] + 1e-9 * a[i]; // HOT
        }
    }
    return a[0] < 0.0;
}
