// SPDX-License-Identifier: Apache-2.0
// Every thread builds the same index of all words before it looks up its share of the buckets. Cured: each thread
// indexes its share of the words.
#include "disease.h"

#include <cstdint>
#include <vector>

constexpr uint32_t kBuckets = 4096;
constexpr int kWords = 300000;

static uint32_t hash_of(uint32_t word) {
    for (int round = 0; round < 12; round++) word = (word ^ word >> 15) * 2246822519U + round;
    return word;
}

int main() {
    std::vector<uint32_t> found(kBuckets);
    calibrate();
#pragma omp parallel // DISEASE
    {
        std::vector<uint32_t> counts(kBuckets);
        for (int pass = 0; pass < 120; pass++) {
#ifdef CURED
            const int first = kWords / omp_get_num_threads() * omp_get_thread_num();
            const int end = first + kWords / omp_get_num_threads();
#else
            const int first = 0, end = kWords;
#endif
            for (int i = first; i < end; i++) counts[hash_of(i + pass) % kBuckets]++; // HOT
        }
#pragma omp for
        for (int bucket = 0; bucket < int(kBuckets); bucket++) {
            compute_us(20);
            found[bucket] = counts[bucket];
        }
    }
    return found[0] == 1;
}
