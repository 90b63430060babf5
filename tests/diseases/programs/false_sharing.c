// SPDX-License-Identifier: Apache-2.0
// Each thread counts in its own variable, but the variables share a cache line. Cured: they do not.
#include "disease.h"

#ifdef CURED
enum { kApart = 16 };
#else
enum { kApart = 1 };
#endif
static _Alignas(128) volatile long counts[64 * kApart];

int main(void) {
    calibrate();
#pragma omp parallel // DISEASE
    {
        const int mine = omp_get_thread_num() % 64 * kApart;
        const int n = 1200000000 / omp_get_num_threads();
        for (int i = 0; i < n; i++) counts[mine]++; // HOT
    }
    return 0;
}
