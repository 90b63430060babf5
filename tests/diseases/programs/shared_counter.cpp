// SPDX-License-Identifier: Apache-2.0
// Tasks that all add to one atomic counter.
#include "disease.h"

#include <atomic>

int main() {
    static std::atomic<long> counter{0};
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 400; i++) {
#pragma omp task // DISEASE
        for (int k = 0; k < 100000; k++) counter.fetch_add(1, std::memory_order_relaxed);
    }
}
