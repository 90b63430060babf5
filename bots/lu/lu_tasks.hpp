// SPDX-License-Identifier: Apache-2.0
// LU factorization with a task for every block that a step changes, in two waves per step: first the blocks right of
// the diagonal and below it, then the trailing matrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lu.hpp"
#include "tasks.hpp"

namespace bots {

// Factors the matrix. One thread of a team calls this. Steps whose trailing matrix has up to `grain` blocks on a side
// are below the cut-off.
template <TaskKind kKind>
void factor_tasks(BlockMatrix *matrix, std::size_t grain) {
    const std::size_t n = matrix->n_blocks();
    for (std::size_t k = 0; k < n; k++) {
        const bool below = n - k - 1 <= grain;
        if (goes_serial<kKind>(below)) return factor_serial(*matrix, k);
        factor_diagonal(*matrix, k);
        for (std::size_t i = k + 1; i < n; i++) {
            BOTS_TASK(kKind, below, firstprivate(matrix, k, i), solve_in_row(*matrix, k, i));
            BOTS_TASK(kKind, below, firstprivate(matrix, k, i), solve_in_column(*matrix, k, i));
        }
#pragma omp taskwait
        for (std::size_t i = k + 1; i < n; i++)
            for (std::size_t j = k + 1; j < n; j++)
                BOTS_TASK(kKind, below, firstprivate(matrix, k, i, j), update_block(*matrix, k, i, j));
#pragma omp taskwait
    }
}

template <TaskKind kKind>
void factor_parallel(BlockMatrix &matrix, std::size_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    factor_tasks<kKind>(&matrix, grain);
}

// Returns the number of tasks that factor_tasks creates for a matrix of n x n blocks.
constexpr std::uint64_t count_factor_tasks(std::size_t n, std::size_t grain, Cutoff cutoff) {
    std::uint64_t created = 0;
    for (std::size_t trailing = 1; trailing < n; trailing++) {
        if (cutoff == Cutoff::kManual && trailing <= grain) continue;
        created += 2 * trailing + trailing * trailing;
    }
    return created;
}

} // namespace bots
