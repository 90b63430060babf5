// SPDX-License-Identifier: Apache-2.0
// Option pricing with tasks. A range of blocks of options is halved, and its upper half becomes a task.
#pragma once

#include <cstdint>

#include "portfolio.hpp"
#include "range_tasks.hpp"

namespace bots {

// Returns the cut for which ranges of up to `grain` options are below the cut-off; a block is not divided.
constexpr RangeCut cut_of_portfolio(std::int64_t grain) {
    return {.leaf = 1, .grain = grain / static_cast<std::int64_t>(kOptionsInBlock)};
}

template <TaskKind kKind>
void price_parallel(Portfolio &portfolio, std::int64_t rounds, std::int64_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::int64_t round = 0; round < rounds; round++)
        for_range<kKind>(portfolio.n_blocks(), cut_of_portfolio(grain),
                         [&portfolio](std::int64_t first, std::int64_t last) { portfolio.price(first, last); });
}

} // namespace bots
