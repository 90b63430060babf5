// SPDX-License-Identifier: Apache-2.0
// The longest Collatz sequence, one number per chunk. Cured: chunks of 2000 numbers.
#include "disease.h"

#include <algorithm>

static int sequence_length(long n) {
    int length = 1;
    for (; n != 1 && length < 50; length++) n = n % 2 != 0 ? 3 * n + 1 : n / 2;
    return length;
}

int main() {
    constexpr int kNumbers = 2500000;
#ifdef CURED
    constexpr int kChunk = 2000;
#else
    constexpr int kChunk = 1;
#endif
    int longest = 0;
    calibrate();
#pragma omp parallel
    {
        int mine = 0;
#pragma omp for schedule(nonmonotonic : dynamic, kChunk) // DISEASE
        for (int n = 1; n <= kNumbers; n++) mine = std::max(mine, sequence_length(n));
#pragma omp critical
        longest = std::max(longest, mine);
    }
    return longest < 2;
}
