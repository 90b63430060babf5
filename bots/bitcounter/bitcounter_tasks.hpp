// SPDX-License-Identifier: Apache-2.0
// Bit counting with tasks. A range of vectors is halved, and its upper half becomes a task.
#pragma once

#include <cstdint>

#include "bitcounter.hpp"
#include "range_tasks.hpp"

namespace bots {

// Counts all vectors. Ranges of up to `grain` vectors are below the cut-off; a single vector is not divided.
template <TaskKind kKind>
void count_parallel(BitVectors &vectors, std::int64_t rounds, std::int64_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::int64_t round = 0; round < rounds; round++)
        for_range<kKind>(vectors.size(), {.leaf = 1, .grain = grain},
                         [&vectors](std::int64_t first, std::int64_t last) { vectors.count(first, last); });
}

constexpr std::uint64_t count_bitcounter_tasks(std::int64_t n_vectors, std::int64_t rounds, std::int64_t grain,
                                               Cutoff cutoff) {
    return static_cast<std::uint64_t>(rounds) * count_range_tasks(n_vectors, {.leaf = 1, .grain = grain}, cutoff);
}

} // namespace bots
