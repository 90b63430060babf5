// SPDX-License-Identifier: Apache-2.0
// A maximal independent set with tasks. A range of vertices is halved, and its upper half becomes a task.
#pragma once

#include <cstdint>

#include "mis.hpp"
#include "range_tasks.hpp"

namespace bots {

inline constexpr std::int64_t kMisLeaf = 64; // vertices; ranges up to this size are not divided, whatever the cut-off

template <TaskKind kKind>
void decide_parallel(IndependentSet &set, std::int64_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for_range<kKind>(static_cast<std::int64_t>(set.n_vertices()), {.leaf = kMisLeaf, .grain = grain},
                     [&set](std::int64_t first, std::int64_t last) { set.decide(first, last); });
}

} // namespace bots
