// SPDX-License-Identifier: Apache-2.0
// Swaption pricing with tasks. A range of blocks of paths is halved, and its upper half becomes a task.
#pragma once

#include <cstdint>

#include "range_tasks.hpp"
#include "swaption_book.hpp"

namespace bots {

// Returns the cut for which ranges of up to `grain` paths are below the cut-off; a block is not divided.
constexpr RangeCut cut_of_paths(std::int64_t grain) { return {.leaf = 1, .grain = grain / kPathsInBlock}; }

template <TaskKind kKind>
void simulate_parallel(SwaptionBook &book, std::int64_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for_range<kKind>(book.n_blocks(), cut_of_paths(grain),
                     [&book](std::int64_t first, std::int64_t last) { book.simulate(first, last); });
}

} // namespace bots
