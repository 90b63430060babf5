// SPDX-License-Identifier: Apache-2.0
// Stream clustering with tasks. A chunk's range of pieces is halved, and its upper half becomes a task.
#pragma once

#include <cstdint>

#include "range_tasks.hpp"
#include "streamcluster.hpp"

namespace bots {

// The loop of LocalSearch with tasks; one thread of a team calls it. The number of calls depends on the points, so the
// loop counts its tasks. Counting costs little, because each task takes at least a microsecond.
template <TaskKind kKind>
class TaskLoop {
public:
    // Ranges of up to `grain` points are below the cut-off; a piece is not divided.
    explicit TaskLoop(std::int64_t grain)
        : cut_{.leaf = 1, .grain = grain / static_cast<std::int64_t>(kPointsInPiece)} {}

    void operator()(std::int64_t n, const Pieces &body) {
        for_range<kKind>(n, cut_, body);
        n_tasks_ += count_range_tasks(n, cut_, kKind.cutoff);
    }

    std::uint64_t n_tasks() const { return n_tasks_; }

private:
    RangeCut cut_;
    std::uint64_t n_tasks_ = 0;
};

} // namespace bots
