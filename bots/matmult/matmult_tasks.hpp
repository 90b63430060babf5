// SPDX-License-Identifier: Apache-2.0
// Blocked matrix multiplication with tasks: the blocks of the result are a range in two dimensions, whose longer side
// is halved down to single blocks. One half becomes a task; its creator continues with the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "matmult.hpp"
#include "tasks.hpp"

namespace bots {

inline std::pair<BlockRange, BlockRange> halves_of(const BlockRange &range) {
    BlockRange lower = range;
    BlockRange upper = range;
    if (range.n_rows() >= range.n_columns())
        lower.last_row = upper.first_row = range.first_row + range.n_rows() / 2;
    else
        lower.last_column = upper.first_column = range.first_column + range.n_columns() / 2;
    return {lower, upper};
}

// Computes a range of the result. Does not wait for its tasks. Ranges of up to `grain` blocks are below the cut-off.
template <TaskKind kKind>
void multiply_tasks(Multiplication *matrices, BlockRange range, std::size_t grain) {
    while (range.n_blocks() > 1) {
        const bool below = range.n_blocks() <= grain;
        if (goes_serial<kKind>(below)) break;
        const auto [lower, upper] = halves_of(range);
        const BlockRange other = upper;
        BOTS_TASK(kKind, below, firstprivate(matrices, other, grain), multiply_tasks<kKind>(matrices, other, grain));
        range = lower;
    }
    multiply_blocks(matrices->a, matrices->b, matrices->c, range);
}

template <TaskKind kKind>
void multiply_parallel(Multiplication &matrices, std::size_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
#pragma omp taskgroup
    multiply_tasks<kKind>(&matrices, matrices.all_blocks(), grain);
}

// Returns the number of tasks that multiply_tasks creates for a range: one less than the number of pieces.
inline std::uint64_t count_multiply_tasks(const BlockRange &range, std::size_t grain, Cutoff cutoff) {
    if (range.n_blocks() <= 1 || (cutoff == Cutoff::kManual && range.n_blocks() <= grain)) return 0;
    const auto [lower, upper] = halves_of(range);
    return 1 + count_multiply_tasks(lower, grain, cutoff) + count_multiply_tasks(upper, grain, cutoff);
}

} // namespace bots
