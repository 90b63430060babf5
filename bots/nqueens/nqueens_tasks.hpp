// SPDX-License-Identifier: Apache-2.0
// The search with a task for every placed queen. count_placements returns the number of tasks.
#pragma once

#include <cstdint>

#include "nqueens.hpp"
#include "tasks.hpp"

namespace bots {

// Returns the number of solutions that contain the given board, which must exist until the call returns.
// `levels`: rows, from the next one on, that are above the cut-off.
template <TaskKind kKind>
std::uint64_t count_solutions_tasks(const Board &board, std::uint32_t row, int levels) {
    if (board.columns == row) return 1;
    if (goes_serial<kKind>(levels <= 0)) return count_solutions(board, row);
    std::uint64_t solutions[kMaxQueens]; // by child; each task writes one element
    int n_children = 0;
    for (std::uint32_t free = free_squares(board, row); free != 0; free &= free - 1) {
        const std::uint32_t square = lowest(free);
        const int i = n_children++;
        BOTS_TASK(kKind, levels <= 0, shared(board, solutions) firstprivate(square, i, row, levels),
                  solutions[i] = count_solutions_tasks<kKind>(place(board, square), row, levels - 1));
    }
#pragma omp taskwait
    std::uint64_t sum = 0;
    for (int i = 0; i < n_children; i++) sum += solutions[i];
    return sum;
}

template <TaskKind kKind>
std::uint64_t count_solutions_parallel(int n, int levels, int n_threads) {
    std::uint64_t solutions = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    solutions = count_solutions_tasks<kKind>(Board{}, full_row(n), levels);
    return solutions;
}

} // namespace bots
