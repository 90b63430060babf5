// SPDX-License-Identifier: Apache-2.0
// Each thread counts in its own variable, but the variables share a cache line.
#include "disease.h"

static struct {
    _Alignas(64) volatile long counts[8];
} line;

int main(void) {
    calibrate();
#pragma omp parallel // DISEASE
    {
        const int mine = omp_get_thread_num() & 7;
        const int n = 200000000 / omp_get_num_threads();
        for (int i = 0; i < n; i++) line.counts[mine]++;
    }
    return 0;
}
