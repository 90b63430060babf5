// SPDX-License-Identifier: Apache-2.0
// The sparse factorization with a task for every block that a step changes, in two waves per step: first the blocks
// right of the diagonal and below it, then the trailing matrix. Either one thread creates all tasks, or the threads of
// worksharing loops do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sparselu.hpp"
#include "tasks.hpp"

namespace bots {

// True if step k is below the cut-off: its trailing matrix has up to `grain` blocks on a side.
inline bool is_below(const BlockSparseMatrix &matrix, std::size_t k, std::size_t grain) {
    return matrix.n_blocks() - k - 1 <= grain;
}

// Factors the matrix; one thread creates all tasks.
template <TaskKind kKind>
void factor_from_single(BlockSparseMatrix *matrix, std::size_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::size_t k = 0, n = matrix->n_blocks(); k < n; k++) {
        const bool below = is_below(*matrix, k, grain);
        if (goes_serial<kKind>(below)) {
            factor_serial(*matrix, k);
            break;
        }
        lu0(*matrix, k);
        for (std::size_t j = k + 1; j < n; j++)
            if (matrix->has(k, j)) BOTS_TASK(kKind, below, firstprivate(matrix, k, j), fwd(*matrix, k, j));
        for (std::size_t i = k + 1; i < n; i++)
            if (matrix->has(i, k)) BOTS_TASK(kKind, below, firstprivate(matrix, k, i), bdiv(*matrix, k, i));
#pragma omp taskwait
        for (std::size_t i = k + 1; i < n; i++) {
            if (!matrix->has(i, k)) continue;
            for (std::size_t j = k + 1; j < n; j++)
                if (matrix->has(k, j)) BOTS_TASK(kKind, below, firstprivate(matrix, k, i, j), bmod(*matrix, k, i, j));
        }
#pragma omp taskwait
    }
}

// Factors the matrix; the threads share the loops over rows and columns, and each creates the tasks of its iterations.
// The barriers at the ends of the loops wait for the tasks.
template <TaskKind kKind>
void factor_from_loops(BlockSparseMatrix *matrix, std::size_t grain, int n_threads) {
#pragma omp parallel num_threads(n_threads)
    for (std::size_t k = 0, n = matrix->n_blocks(); k < n; k++) {
        const bool below = is_below(*matrix, k, grain);
        if (goes_serial<kKind>(below)) {
#pragma omp single
            factor_serial(*matrix, k);
            break;
        }
#pragma omp single
        lu0(*matrix, k);
#pragma omp for nowait
        for (std::size_t j = k + 1; j < n; j++)
            if (matrix->has(k, j)) BOTS_TASK(kKind, below, firstprivate(matrix, k, j), fwd(*matrix, k, j));
#pragma omp for
        for (std::size_t i = k + 1; i < n; i++)
            if (matrix->has(i, k)) BOTS_TASK(kKind, below, firstprivate(matrix, k, i), bdiv(*matrix, k, i));
#pragma omp for schedule(dynamic)
        for (std::size_t i = k + 1; i < n; i++) {
            if (!matrix->has(i, k)) continue;
            for (std::size_t j = k + 1; j < n; j++)
                if (matrix->has(k, j)) BOTS_TASK(kKind, below, firstprivate(matrix, k, i, j), bmod(*matrix, k, i, j));
        }
    }
}

// Returns the number of tasks, which is the same for both functions.
inline std::uint64_t count_sparselu_tasks(const BlockSparseMatrix &matrix, std::size_t grain, Cutoff cutoff) {
    std::uint64_t n_tasks = 0;
    for (std::size_t k = 0; k < matrix.n_blocks(); k++) {
        if (cutoff == Cutoff::kManual && is_below(matrix, k, grain)) break;
        const StepSize size = step_size(matrix, k);
        n_tasks += size.n_fwd + size.n_bdiv + size.n_bmod();
    }
    return n_tasks;
}

} // namespace bots
