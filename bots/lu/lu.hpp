// SPDX-License-Identifier: Apache-2.0
// LU factorization of a dense matrix in blocks, in place and right-looking. It needs no pivoting, because the matrix is
// diagonally dominant. A step factors a block of the diagonal, solves for the blocks right of it and below it, and
// subtracts their products from all blocks of the trailing matrix, which shrinks from step to step.
//
//   work  2/3 n^3 operations
//   span  Theta(n b^2), b the rows of a block: three blocks in each of the n/b steps
//
// Sources: Woo, Ohara, Torrie, Singh, Gupta, "The SPLASH-2 programs" (ISCA 1995), and Golub and Van Loan, "Matrix
// computations", for the algorithm; Contreras and Martonosi, "Characterizing and improving the performance of Intel
// Threading Building Blocks" (IISWC 2008), for the benchmark: 31,200 tasks of 4,000 cycles. A matrix of 45 x 45 blocks
// has about as many, 31,350. block_factors.hpp and dense_block.hpp have the kernels, lu_tasks.hpp and lu_depend.hpp the
// tasks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "block_factors.hpp"
#include "dense_block.hpp"
#include "random.hpp"

namespace bots {

// The parts of step k. Each works on blocks of the matrix.
inline void factor_diagonal(BlockMatrix &matrix, std::size_t k) {
    factor_block(matrix.block(k, k), matrix.block_rows());
}
inline void solve_in_row(BlockMatrix &matrix, std::size_t k, std::size_t j) {
    solve_beside(matrix.block(k, k), matrix.block(k, j), matrix.block_rows());
}
inline void solve_in_column(BlockMatrix &matrix, std::size_t k, std::size_t i) {
    solve_below(matrix.block(k, k), matrix.block(i, k), matrix.block_rows());
}
inline void update_block(BlockMatrix &matrix, std::size_t k, std::size_t i, std::size_t j) {
    kBlockKernels.subtract_product(matrix.block(i, k), matrix.block(k, j), matrix.block(i, j), matrix.block_rows());
}

// Executes the steps from `first_step` on.
inline void factor_serial(BlockMatrix &matrix, std::size_t first_step) {
    const std::size_t n = matrix.n_blocks();
    for (std::size_t k = first_step; k < n; k++) {
        factor_diagonal(matrix, k);
        for (std::size_t j = k + 1; j < n; j++) solve_in_row(matrix, k, j);
        for (std::size_t i = k + 1; i < n; i++) {
            solve_in_column(matrix, k, i);
            for (std::size_t j = k + 1; j < n; j++) update_block(matrix, k, i, j);
        }
    }
}

// The matrix to factor, random from a fixed seed, and the verification of the factors.
class LuInput {
public:
    LuInput(std::size_t n, std::size_t block_rows) : matrix(n, block_rows) {}

    void fill() {
        matrix.fill([this](std::size_t row, std::size_t column) { return element(row, column); });
    }

    double n_operations() const { return 2.0 / 3 * std::pow(static_cast<double>(matrix.n_rows()), 3); }

    // Returns |A x - L (U x)| for a random x, relative to the expected rounding of the factors; maximum norms.
    double residual() const {
        const std::size_t n = matrix.n_rows();
        Random random(kSeed);
        std::vector<double> x(n), from_input(n), from_upper(n);
        double largest_x = 0, largest_row_sum = 0, largest_difference = 0;
        for (double &component : x) {
            component = unit_interval(random.draw());
            largest_x = std::max(largest_x, std::fabs(component));
        }
        for (std::size_t i = 0; i < n; i++) {
            double row_sum = 0;
            for (std::size_t j = 0; j < n; j++) {
                from_input[i] += element(i, j) * x[j];
                row_sum += std::fabs(element(i, j));
                if (j >= i) from_upper[i] += matrix.at(i, j) * x[j];
            }
            largest_row_sum = std::max(largest_row_sum, row_sum);
        }
        for (std::size_t i = 0; i < n; i++) {
            double from_factors = from_upper[i];
            for (std::size_t j = 0; j < i; j++) from_factors += matrix.at(i, j) * from_upper[j];
            const double difference = std::fabs(from_input[i] - from_factors);
            if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
            largest_difference = std::max(largest_difference, difference);
        }
        const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(n);
        return largest_difference / (largest_row_sum * largest_x * rounding);
    }

    std::string check() const {
        const double found = residual();
        if (found <= kLargestResidual) return "";
        return "the residual is " + std::to_string(found) + " times the expected rounding error";
    }

    std::string describe() const {
        return "L and U of " + std::to_string(matrix.n_rows()) + " rows, residual " + std::to_string(residual());
    }

    BlockMatrix matrix;

private:
    static constexpr std::uint64_t kSeed = 19950622;
    static constexpr double kLargestResidual = 1;

    static double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-52 - 1; }

    // Returns an element. Elements off the diagonal are in [-1, 1). Diagonal elements are larger than the sum of the
    // absolute values of all other elements in their row. The padding of the matrix is a unit matrix.
    double element(std::size_t row, std::size_t column) const {
        const std::size_t n = matrix.n_rows();
        if (row >= n || column >= n) return row == column ? 1 : 0;
        const double value = unit_interval(mix(kSeed + row * n + column));
        return row == column ? value + static_cast<double>(n) : value;
    }
};

} // namespace bots
