// SPDX-License-Identifier: Apache-2.0
// Random walks whose generators lie side by side in one vector. Cured: each walker has its own cache lines.
#include "disease.h"

#include <cstdint>
#include <vector>

#ifdef CURED
struct alignas(128) Walker {
#else
struct Walker {
#endif
    uint32_t random;
    int32_t position;
    [[gnu::noinline]] void step() {
        random = random * 1664525U + 1013904223U; // HOT
        position += random >> 31 != 0 ? 1 : -1;
    }
};

int main() {
    constexpr int kSteps = 100000000;
    calibrate();
    std::vector<Walker> walkers(omp_get_max_threads());
#pragma omp parallel // DISEASE
    {
        Walker &mine = walkers[omp_get_thread_num()];
        mine = {unsigned(omp_get_thread_num()), 0};
        for (int i = 0; i < kSteps / omp_get_num_threads(); i++) mine.step();
    }
}
