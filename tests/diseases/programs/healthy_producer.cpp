// SPDX-License-Identifier: Apache-2.0
// One thread reads blocks of a file in memory and creates a task for each; a block takes 100 times as long to process.
#include "disease.h"

#include <string>
#include <vector>

static unsigned checksum(const char *text, size_t length) {
    unsigned sum = 0;
    for (int pass = 0; pass < 100; pass++) {
        for (size_t i = 0; i < length; i++) sum = (sum << 5 | sum >> 27) ^ unsigned(text[i]);
    }
    return sum;
}

int main() {
    constexpr size_t kBlock = 4096;
    const std::string file(kBlock * 64, 'x');
    std::vector<unsigned> sums(1600);
#pragma omp parallel
#pragma omp single
    for (size_t i = 0; i < sums.size(); i++) {
        std::string block = file.substr(i % 64 * kBlock, kBlock);
#pragma omp task shared(sums) firstprivate(block)
        sums[i] = checksum(block.data(), block.size());
    }
    return sums[0] != sums[64];
}
