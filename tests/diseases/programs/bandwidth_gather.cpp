// SPDX-License-Identifier: Apache-2.0
// A sum over a large table in random order. Cured: in the order of the table.
#include "disease.h"

#include <cstdint>

constexpr uint32_t kLength = 1U << 25;
static int table[kLength];

int main() {
    calibrate();
    long sum = 0;
#pragma omp parallel for schedule(static)
    for (uint32_t i = 0; i < kLength; i++) table[i] = int(i);
#pragma omp parallel for schedule(static) reduction(+ : sum) // DISEASE
    for (uint32_t i = 0; i < 100000000; i++) {
#ifdef CURED
        const uint32_t index = i;
#else
        const uint32_t index = i * 2654435761U;
#endif
        sum += table[index % kLength] & 7; // HOT
    }
    return sum < 0;
}
