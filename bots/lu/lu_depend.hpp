// SPDX-License-Identifier: Apache-2.0
// LU factorization with a task for every block that a step changes, the diagonal block included. Only dependences order
// the tasks, so steps overlap. The first element of a block stands for the block in the depend clauses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lu.hpp"
#include "tasks.hpp"

namespace bots {

// Factors the matrix. One thread of a team calls this. `grain`: as for factor_tasks.
template <TaskKind kKind>
void factor_depend(BlockMatrix *matrix, std::size_t grain) {
    const std::size_t n = matrix->n_blocks();
    for (std::size_t k = 0; k < n; k++) {
        const bool below = n - k - 1 <= grain;
        if (goes_serial<kKind>(below)) {
#pragma omp taskwait
            return factor_serial(*matrix, k);
        }
        double *const diagonal = matrix->block(k, k);
        BOTS_TASK(kKind, below, firstprivate(matrix, k) depend(inout : diagonal[0]), factor_diagonal(*matrix, k));
        for (std::size_t i = k + 1; i < n; i++) {
            double *const beside = matrix->block(k, i);
            BOTS_TASK(kKind, below, firstprivate(matrix, k, i) depend(in : diagonal[0]) depend(inout : beside[0]),
                      solve_in_row(*matrix, k, i));
        }
        for (std::size_t i = k + 1; i < n; i++) {
            double *const left = matrix->block(i, k);
            BOTS_TASK(kKind, below, firstprivate(matrix, k, i) depend(in : diagonal[0]) depend(inout : left[0]),
                      solve_in_column(*matrix, k, i));
            for (std::size_t j = k + 1; j < n; j++) {
                double *const above = matrix->block(k, j);
                double *const target = matrix->block(i, j);
                BOTS_TASK(kKind, below,
                          firstprivate(matrix, k, i, j) depend(in : left[0], above[0]) depend(inout : target[0]),
                          update_block(*matrix, k, i, j));
            }
        }
    }
}

template <TaskKind kKind>
void factor_depend_parallel(BlockMatrix &matrix, std::size_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    factor_depend<kKind>(&matrix, grain);
}

// Returns the number of tasks that factor_depend creates for a matrix of n x n blocks.
constexpr std::uint64_t count_depend_tasks(std::size_t n, std::size_t grain, Cutoff cutoff) {
    std::uint64_t created = 0;
    for (std::size_t trailing = 0; trailing < n; trailing++) {
        if (cutoff == Cutoff::kManual && trailing <= grain) continue;
        created += 1 + 2 * trailing + trailing * trailing;
    }
    return created;
}

} // namespace bots
