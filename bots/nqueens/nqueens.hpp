// SPDX-License-Identifier: Apache-2.0
// Counts the placements of n queens on an n x n board in which no queen attacks another: backtracking row by row, an
// unbalanced search tree. A partial board is three words: the columns in use, and the squares of the next row that
// diagonals attack, for each of the two directions. Placing a queen takes a few operations on these words.
//
//   work  proportional to the valid partial boards (count_placements), exponential in n
//   span  Theta(n^2): on each of the n rows, a task creates up to n tasks and adds their counts
//
// Sources: Duran et al., "Barcelona OpenMP Tasks Suite" (ICPP 2009), for the benchmark; Richards, "Backtracking
// algorithms in MCPL using bit patterns and recursion" (Cambridge, 1997), for the board in words. The numbers of
// solutions are sequence A000170 of the OEIS. The tasks are in nqueens_tasks.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace bots {

inline constexpr int kMaxQueens = 18;

// Solutions for n = 1, 2, ...
inline constexpr std::array<std::uint64_t, kMaxQueens> kQueensSolutions = {
    1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512, 95815104, 666090624};

// A partial board: one queen in each of the first rows. Bit i stands for column i.
struct Board {
    std::uint32_t columns;      // columns in use
    std::uint32_t diagonals;    // squares of the next row that are attacked along a diagonal, towards higher columns
    std::uint32_t antidiagonals; // squares of the next row that are attacked towards lower columns
};

constexpr std::uint32_t full_row(int n) { return (std::uint32_t{1} << n) - 1; }

constexpr std::uint32_t free_squares(const Board &board, std::uint32_t row) {
    return row & ~(board.columns | board.diagonals | board.antidiagonals);
}

constexpr std::uint32_t lowest(std::uint32_t squares) { return squares & (0 - squares); }

constexpr Board place(const Board &board, std::uint32_t square) {
    return {board.columns | square, (board.diagonals | square) << 1, (board.antidiagonals | square) >> 1};
}

// Returns the number of solutions that contain the given board. `row`: full_row(n).
inline std::uint64_t count_solutions(const Board &board, std::uint32_t row) {
    if (board.columns == row) return 1;
    std::uint64_t solutions = 0;
    for (std::uint32_t free = free_squares(board, row); free != 0; free &= free - 1)
        solutions += count_solutions(place(board, lowest(free)), row);
    return solutions;
}

// Returns the number of valid boards with 1 to `rows` further queens.
inline std::uint64_t count_placements(const Board &board, std::uint32_t row, std::int64_t rows) {
    if (rows <= 0) return 0;
    std::uint64_t placements = 0;
    for (std::uint32_t free = free_squares(board, row); free != 0; free &= free - 1)
        placements += 1 + count_placements(place(board, lowest(free)), row, rows - 1);
    return placements;
}

// Valid partial boards of at least one queen, for n = 1, 2, ...: count_placements from the empty board to the last row.
inline constexpr std::array<double, kMaxQueens> kQueensPlacements = {
    1,     2,      5,      16,      53,       152,       551,        2056,       8393,
    35538, 166925, 856188, 4674889, 27358552, 171129071, 1141190302, 8017021931, 59365844490};

constexpr double queens_placements(int n) { return kQueensPlacements[static_cast<std::size_t>(n - 1)]; }

inline std::string check_queens(int n, std::uint64_t solutions) {
    const std::uint64_t expected = kQueensSolutions[static_cast<std::size_t>(n - 1)];
    if (solutions == expected) return "";
    return std::to_string(n) + " queens have " + std::to_string(expected) + " solutions, not " +
           std::to_string(solutions);
}

inline std::string describe_queens(int n, std::uint64_t solutions) {
    return std::to_string(solutions) + " solutions for " + std::to_string(n) + " queens";
}

} // namespace bots
