// SPDX-License-Identifier: Apache-2.0
// Parallel loops made of tasks. A range of iterations is halved until its pieces are small, as in TBB's parallel_for.
// Each upper half becomes a task, and its creator continues with the lower half. The caller's function executes pieces.
//
// Source: Robison, Voss, Kukanov, "Optimization via reflection on work stealing in TBB" (IPDPS 2008).
#pragma once

#include <cstdint>

#include "tasks.hpp"

namespace bots {

// Sizes, in iterations, down to which ranges are halved.
struct RangeCut {
    std::int64_t leaf; // pieces up to this size are never halved
    std::int64_t grain; // ranges up to this size are below the cut-off
};

// Calls (*body)(first, last) for pieces that make up [first, last), in any order. Does not wait for its tasks.
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

// Runs the loop over [0, n) and waits for it. One thread of a team calls this.
template <TaskKind kKind, class Body>
void for_range(std::int64_t n, RangeCut cut, const Body &body) {
#pragma omp taskgroup
    split_range<kKind>(0, n, cut, &body);
}

// Returns the number of tasks that for_range creates: one less than the number of pieces.
constexpr std::uint64_t count_range_tasks(std::int64_t n, RangeCut cut, Cutoff cutoff) {
    if (n <= cut.leaf || (cutoff == Cutoff::kManual && n <= cut.grain)) return 0;
    return 1 + count_range_tasks(n / 2, cut, cutoff) + count_range_tasks(n - n / 2, cut, cutoff);
}

} // namespace bots
