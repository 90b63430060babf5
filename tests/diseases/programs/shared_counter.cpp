// SPDX-License-Identifier: Apache-2.0
// Tasks that all count their draws in one atomic counter. Cured: once per task.
#include "disease.h"

#include <atomic>

int main() {
    static std::atomic<long> counter{0};
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 400; i++) {
#pragma omp task // DISEASE
        {
            unsigned random = unsigned(i);
            long mine = 0;
            for (int k = 0; k < 300000; k++) {
                random = random * 1664525U + 1013904223U;
                if ((random & 0xc0000000U) == 0) continue;
#ifdef CURED
                mine++;
#else
                counter.fetch_add(1, std::memory_order_relaxed); // HOT
#endif
            }
            counter.fetch_add(mine, std::memory_order_relaxed);
        }
    }
}
