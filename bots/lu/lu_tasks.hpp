// SPDX-License-Identifier: Apache-2.0
// LU factorization with a task for every block that a step changes, in two waves per step: first the blocks right of
// the diagonal and below it, then the trailing matrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lu.hpp"
#include "range_tasks.hpp"
#include "tasks.hpp"

namespace bots {

// Creators of the tasks of a wave: one thread creates all, or the wave is a range that tasks halve.
enum class Waves : std::uint8_t { kSingle, kHalved };

// Executes body(0), ..., body(n - 1) as tasks, and waits for them.
template <TaskKind kKind, class Body>
void run_wave(std::size_t n, bool below, Waves waves, Body body) {
    if (waves == Waves::kHalved) {
        const auto pieces = static_cast<std::int64_t>(n);
        for_range<kKind>(pieces, {.leaf = 1, .grain = below ? pieces : 0},
                         [body](std::int64_t first, std::int64_t last) {
                             for (; first < last; first++) body(static_cast<std::size_t>(first));
                         });
        return;
    }
    for (std::size_t piece = 0; piece < n; piece++) BOTS_TASK(kKind, below, firstprivate(body, piece), body(piece));
#pragma omp taskwait
}

// Factors the matrix. One thread of a team calls this. Steps whose trailing matrix has up to `grain` blocks on a side
// are below the cut-off.
template <TaskKind kKind>
void factor_tasks(BlockMatrix *matrix, std::size_t grain, Waves waves) {
    const std::size_t n = matrix->n_blocks();
    for (std::size_t k = 0; k < n; k++) {
        const std::size_t trailing = n - k - 1;
        const bool below = trailing <= grain;
        if (goes_serial<kKind>(below)) return factor_serial(*matrix, k);
        factor_diagonal(*matrix, k);
        run_wave<kKind>(2 * trailing, below, waves, [matrix, k](std::size_t piece) {
            if (piece % 2 == 0)
                solve_in_row(*matrix, k, k + 1 + piece / 2);
            else
                solve_in_column(*matrix, k, k + 1 + piece / 2);
        });
        run_wave<kKind>(trailing * trailing, below, waves, [matrix, k, trailing](std::size_t piece) {
            update_block(*matrix, k, k + 1 + piece / trailing, k + 1 + piece % trailing);
        });
    }
}

template <TaskKind kKind>
void factor_parallel(BlockMatrix &matrix, std::size_t grain, Waves waves, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    factor_tasks<kKind>(&matrix, grain, waves);
}

// Returns the number of tasks that factor_tasks creates for a matrix of n x n blocks. A halved wave has one task fewer
// than pieces.
constexpr std::uint64_t count_factor_tasks(std::size_t n, std::size_t grain, Waves waves, Cutoff cutoff) {
    std::uint64_t created = 0;
    for (std::size_t trailing = 1; trailing < n; trailing++) {
        if (cutoff == Cutoff::kManual && trailing <= grain) continue;
        created += 2 * trailing + trailing * trailing - (waves == Waves::kHalved ? 2 : 0);
    }
    return created;
}

} // namespace bots
