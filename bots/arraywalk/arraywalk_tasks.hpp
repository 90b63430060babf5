// SPDX-License-Identifier: Apache-2.0
// Walks over an array with tasks: halves the positions of each round, by default down to the paper's 1000 positions.
#pragma once

#include <cstdint>

#include "arraywalk.hpp"
#include "range_tasks.hpp"

namespace bots {

inline constexpr std::int64_t kWalkLeaf =
    100; // positions; ranges up to this size are not divided, whatever the cut-off

template <TaskKind kKind>
void walk_parallel(WalkedArray &array, std::int64_t n_rounds, std::int64_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::int64_t round = 0; round < n_rounds; round++)
        for_range<kKind>(array.n_cells(), {.leaf = kWalkLeaf, .grain = grain},
                         [&array](std::int64_t first, std::int64_t last) { array.walk(first, last); });
}

} // namespace bots
