// SPDX-License-Identifier: Apache-2.0
// A step of the fluid with tasks, and the number of these tasks. A range of planes or rows of cells is halved, and its
// upper half becomes a task.
#pragma once

#include <cstdint>

#include "fluid.hpp"
#include "range_tasks.hpp"

namespace bots {

// Returns the cut for which ranges of up to `grain` rows of cells are below the cut-off. A row, or a plane in the sort,
// is not divided.
constexpr RangeCut cut_of_rows(std::int64_t grain, std::int64_t n_rows) { return {.leaf = 1, .grain = grain / n_rows}; }

template <TaskKind kKind>
void animate_parallel(Fluid &fluid, std::int64_t steps, std::int64_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::int64_t step = 0; step < steps; step++)
        fluid.step([grain](std::int64_t n, std::int64_t n_rows, const auto &body) {
            for_range<kKind>(n, cut_of_rows(grain, n_rows), body);
        });
}

// Returns the number of tasks of `steps` steps: each has two loops over planes and three over rows.
inline std::uint64_t count_animate_tasks(const Fluid &fluid, std::int64_t steps, std::int64_t grain, Cutoff cutoff) {
    const RangeCut of_planes = cut_of_rows(grain, fluid.n_rows() / fluid.n_planes());
    return static_cast<std::uint64_t>(steps) * (2 * count_range_tasks(fluid.n_planes(), of_planes, cutoff) +
                                                3 * count_range_tasks(fluid.n_rows(), cut_of_rows(grain, 1), cutoff));
}

} // namespace bots
