// SPDX-License-Identifier: Apache-2.0
// Tasks of very different lengths; the shortest have the highest priority, so the longest runs alone at the end.
// Cured: the longest have.
#include "disease.h"

#include <vector>

int main() {
    calibrate();
    const int longest = 250;
    std::vector<int> lengths_ms;
    for (int i = 0; i < 50; i++) lengths_ms.push_back(3 + i % 5);
    lengths_ms.insert(lengths_ms.begin() + 10, longest);
#pragma omp parallel
#pragma omp single
    for (const int length_ms : lengths_ms) {
#ifdef CURED
        const int priority = length_ms;
#else
        const int priority = longest - length_ms;
#endif
#pragma omp task priority(priority) firstprivate(length_ms) // DISEASE
        compute_us(1000.0 * length_ms);
    }
    return longest == 0;
}
