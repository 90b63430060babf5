// SPDX-License-Identifier: Apache-2.0
// Blocked multiplication of dense square matrices in double precision, one block of the result after the other.
//
//   work  Theta(n^3)
//   span  Theta(n b^2), b the rows of a block: the products of a block of the result are added one after the other
//
// Source: Contreras and Martonosi, "Characterizing and improving the performance of Intel Threading Building Blocks"
// (IISWC 2008), whose 12,224 tasks, of 6,000 cycles each, are blocks. (matmul is a different program: recursive, in
// single precision.) The product of two blocks is in dense_block.hpp, the tasks are in matmult_tasks.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dense_block.hpp"
#include "random.hpp"

namespace bots {

// The blocks [first_row, last_row) x [first_column, last_column) of the result.
struct BlockRange {
    std::size_t first_row, last_row;
    std::size_t first_column, last_column;

    std::size_t n_rows() const { return last_row - first_row; }
    std::size_t n_columns() const { return last_column - first_column; }
    std::size_t n_blocks() const { return n_rows() * n_columns(); }
};

// Computes a range of the blocks of c = a * b. These blocks must be zero before the call.
inline void multiply_blocks(const BlockMatrix &a, const BlockMatrix &b, BlockMatrix &c, const BlockRange &range) {
    for (std::size_t i = range.first_row; i < range.last_row; i++)
        for (std::size_t j = range.first_column; j < range.last_column; j++)
            for (std::size_t k = 0; k < c.n_blocks(); k++)
                kBlockKernels.add_product(a.block(i, k), b.block(k, j), c.block(i, j), c.block_rows());
}

// Two factors, their product, and its verification. The elements of the factors are whole numbers, so the product is
// exact.
class Multiplication {
public:
    Multiplication(std::size_t n, std::size_t block_rows) : a(n, block_rows), b(n, block_rows), c(n, block_rows) {
        a.fill([this](std::size_t row, std::size_t column) { return element(1, row, column); });
        b.fill([this](std::size_t row, std::size_t column) { return element(2, row, column); });
    }

    BlockRange all_blocks() const { return {0, c.n_blocks(), 0, c.n_blocks()}; }
    double n_operations() const { return 2 * std::pow(static_cast<double>(c.n_rows()), 3); }

    // Checks that c x = a (b x) for a random x (Freivalds, 1977). A wrong c passes with probability 2^-20 or less.
    std::string check() const {
        const std::size_t n = c.n_rows();
        Random random(kSeed);
        std::vector<std::int64_t> x(n);
        for (std::int64_t &component : x) component = static_cast<std::int64_t>(random.draw() >> 44);
        const double largest = static_cast<double>(n) * kLargestElement * kLargestElement;
        for (std::size_t row = 0; row < n; row++)
            for (std::size_t column = 0; column < n; column++)
                if (!(std::fabs(c.at(row, column)) <= largest))
                    return "element " + std::to_string(row) + ", " + std::to_string(column) + " is out of range";
        const std::vector<std::int64_t> from_factors = times_vector(a, times_vector(b, x));
        const std::vector<std::int64_t> from_product = times_vector(c, x);
        for (std::size_t row = 0; row < n; row++)
            if (from_product[row] != from_factors[row])
                return "row " + std::to_string(row) + " of the product is wrong";
        return "";
    }

    std::string describe() const {
        return std::to_string(c.n_rows()) + " x " + std::to_string(c.n_rows()) + " elements, exact";
    }

    BlockMatrix a, b, c;

private:
    static constexpr std::uint64_t kSeed = 20080914;
    static constexpr int kLargestElement = 8;

    double element(std::uint64_t matrix, std::size_t row, std::size_t column) const {
        if (row >= c.n_rows() || column >= c.n_rows()) return 0;
        const std::uint64_t bits = mix(kSeed * matrix + row * c.n_rows() + column);
        return static_cast<double>(bits % (2 * kLargestElement + 1)) - kLargestElement;
    }

    static std::vector<std::int64_t> times_vector(const BlockMatrix &matrix, const std::vector<std::int64_t> &x) {
        std::vector<std::int64_t> result(matrix.n_rows());
        for (std::size_t row = 0; row < matrix.n_rows(); row++)
            for (std::size_t column = 0; column < matrix.n_rows(); column++)
                result[row] += static_cast<std::int64_t>(matrix.at(row, column)) * x[column];
        return result;
    }
};

} // namespace bots
