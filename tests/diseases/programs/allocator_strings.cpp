// SPDX-License-Identifier: Apache-2.0
// Tasks that split lines into long strings, with one arena for all threads. Cured: views of the line.
#include "disease.h"

#include <list>
#include <malloc.h>
#include <string>
#include <string_view>

#ifdef CURED
using Word = std::string_view;
#else
using Word = std::string;
#endif

static size_t sum_of_words(std::string_view line) {
    Word words[16];
    size_t sum = 0;
    for (size_t k = 0; k < 16; k++) {
        words[k] = Word(line.substr(1200 * k, 1200)); // HOT
        for (size_t j = 0; j < words[k].size(); j += 8) sum += size_t(words[k][j]);
    }
    return sum;
}

int main() {
    calibrate();
    mallopt(M_ARENA_MAX, 1);
    const std::string line(16 * 1200, 'a');
    size_t total = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 400; i++) {
#pragma omp task shared(total, line) // DISEASE
        {
            size_t mine = 0;
            for (int k = 0; k < 400; k++) mine += sum_of_words(line);
#pragma omp atomic
            total += mine;
        }
    }
    return total == 0;
}
