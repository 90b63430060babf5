// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations become tasks: a range is halved down to pieces, as by TBB's parallel_for; each upper half is a
// task, and the creator goes on with the lower one. The caller decides what to do with a piece.
//
// Source: Robison, Voss, Kukanov, "Optimization via reflection on work stealing in TBB" (IPDPS 2008).
#pragma once

#include <cstdint>

#include "tasks.hpp"

namespace bots {

// How far ranges are halved, in iterations.
struct RangeCut {
    std::int64_t leaf; // pieces up to this size are never halved
    std::int64_t grain; // up to this size a range is below the cut-off
};

// Calls (*body)(first, last) for pieces that make up [first, last), in any order; returns before its tasks have ended.
template <TaskKind kKind, class Body>
void split_range(std::int64_t first, std::int64_t last, RangeCut cut, const Body *body) {
    while (last - first > cut.leaf) {
        const bool below = last - first <= cut.grain;
        if (goes_serial<kKind>(below)) break;
        const std::int64_t middle = first + (last - first) / 2;
        BOTS_TASK(kKind, below, firstprivate(middle, last, cut, body), split_range<kKind>(middle, last, cut, body));
        last = middle;
    }
    (*body)(first, last);
}

// The loop over [0, n), complete when the call returns. To be called by one thread of a team.
template <TaskKind kKind, class Body>
void for_range(std::int64_t n, RangeCut cut, const Body &body) {
#pragma omp taskgroup
    split_range<kKind>(0, n, cut, &body);
}

// The number of tasks that for_range creates: one less than there are pieces.
constexpr std::uint64_t count_range_tasks(std::int64_t n, RangeCut cut, Cutoff cutoff) {
    if (n <= cut.leaf || (cutoff == Cutoff::kManual && n <= cut.grain)) return 0;
    return 1 + count_range_tasks(n / 2, cut, cutoff) + count_range_tasks(n - n / 2, cut, cutoff);
}

} // namespace bots
