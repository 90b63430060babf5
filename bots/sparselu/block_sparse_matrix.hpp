// SPDX-License-Identifier: Apache-2.0
// The matrix of sparselu: the positions of its nonzero blocks before and after the factorization, their elements,
// random from a fixed seed, and the verification of the factors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "aligned_array.hpp"
#include "random.hpp"

namespace bots {

// A square matrix of blocks. One array holds all stored blocks. The constructor determines which blocks the
// factorization fills in, so that no kernel allocates memory.
class BlockSparseMatrix {
public:
    // Chooses the nonzero blocks at random: one of `sparsity` blocks off the diagonal, on average.
    BlockSparseMatrix(std::size_t n_blocks, std::size_t block_rows, std::size_t sparsity)
        : n_blocks_(n_blocks), block_rows_(block_rows), sparsity_(sparsity), block_(n_blocks * n_blocks) {
        std::vector<bool> stored(n_blocks * n_blocks);
        for (std::size_t i = 0; i < n_blocks; i++)
            for (std::size_t j = 0; j < n_blocks; j++) stored[i * n_blocks + j] = in_input(i, j);
        for (std::size_t k = 0; k < n_blocks; k++)
            for (std::size_t i = k + 1; i < n_blocks; i++)
                for (std::size_t j = k + 1; stored[i * n_blocks + k] && j < n_blocks; j++)
                    if (stored[k * n_blocks + j]) stored[i * n_blocks + j] = true;
        n_stored_ = static_cast<std::size_t>(std::count(stored.begin(), stored.end(), true));
        elements_ = AlignedArray(n_stored_ * block_rows * block_rows);
        double *next = elements_.data();
        for (std::size_t i = 0; i < stored.size(); i++) {
            if (!stored[i]) continue;
            block_[i] = next;
            next += block_rows * block_rows;
        }
    }

    // Sets all elements to the input.
    void fill() {
        for (std::size_t i = 0; i < n_blocks_; i++)
            for (std::size_t j = 0; j < n_blocks_; j++)
                if (double *const to = block(i, j))
                    for (std::size_t k = 0; k < block_rows_ * block_rows_; k++)
                        to[k] = input_element(i, j, k / block_rows_, k % block_rows_);
    }

    bool has(std::size_t i, std::size_t j) const { return block_[i * n_blocks_ + j] != nullptr; }
    double *block(std::size_t i, std::size_t j) { return block_[i * n_blocks_ + j]; } // nullptr: zero
    const double *block(std::size_t i, std::size_t j) const { return block_[i * n_blocks_ + j]; }
    std::size_t n_blocks() const { return n_blocks_; } // on a side of the matrix
    std::size_t block_rows() const { return block_rows_; } // rows, and columns, of a block
    std::size_t block_bytes() const { return block_rows_ * block_rows_ * sizeof(double); }

    // Returns a hash of the bits of all elements. It is the same for all versions, because all apply the changes of a
    // block in the same order.
    std::uint64_t fingerprint() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n_stored_ * block_rows_ * block_rows_; i++)
            sum += mix(std::bit_cast<std::uint64_t>(elements_[i]) + i);
        return sum;
    }

    // Returns an empty string if the elements are the factors of the input, otherwise one line with the error: checks
    // that A x = L (U x) for a random x, up to the expected rounding.
    std::string check_factors() const {
        const std::size_t n = n_blocks_ * block_rows_;
        std::vector<double> x(n), from_input(n), from_upper(n), from_factors(n);
        Random random(kSeed);
        for (double &component : x) component = unit_interval(random.draw());
        for_each_element([&](std::size_t row, std::size_t column, double element, double of_input) {
            from_input[row] += of_input * x[column];
            if (column >= row) from_upper[row] += element * x[column];
        });
        from_factors = from_upper;
        for_each_element([&](std::size_t row, std::size_t column, double element, double) {
            if (column < row) from_factors[row] += element * from_upper[column];
        });
        double largest = 0, largest_difference = 0;
        for (std::size_t row = 0; row < n; row++) {
            largest = std::max(largest, std::fabs(from_input[row]));
            const double difference = std::fabs(from_input[row] - from_factors[row]);
            largest_difference = std::isfinite(difference) ? std::max(largest_difference, difference)
                                                           : std::numeric_limits<double>::infinity();
            if (!std::isfinite(difference)) break;
        }
        const double allowed = std::numeric_limits<double>::epsilon() * static_cast<double>(n) * largest;
        if (largest_difference <= allowed) return "";
        return "L U x differs from A x by " + std::to_string(largest_difference / allowed) +
               " times the allowed rounding";
    }

    std::string describe() const {
        return "factors in " + std::to_string(n_stored_) + " of " + std::to_string(n_blocks_ * n_blocks_) + " blocks";
    }

private:
    static constexpr std::uint64_t kSeed = 19690801;

    static double unit_interval(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

    bool in_input(std::size_t i, std::size_t j) const {
        return i == j || mix(kSeed + i * n_blocks_ + j) % sparsity_ == 0;
    }

    // Returns an element of the input. The matrix is diagonally dominant, so that the factorization exists and is
    // stable without pivoting.
    double input_element(std::size_t i, std::size_t j, std::size_t row, std::size_t column) const {
        if (!in_input(i, j)) return 0;
        const std::size_t index = ((i * n_blocks_ + j) * block_rows_ + row) * block_rows_ + column;
        const double element = unit_interval(mix(~kSeed + index)) - 0.5;
        return i == j && row == column ? element + static_cast<double>(n_blocks_ * block_rows_) : element;
    }

    // Calls visit(row, column, element, input element) for all stored elements.
    template <class Visit>
    void for_each_element(const Visit &visit) const {
        for (std::size_t i = 0; i < n_blocks_; i++)
            for (std::size_t j = 0; j < n_blocks_; j++)
                if (const double *const from = block(i, j))
                    for (std::size_t k = 0; k < block_rows_ * block_rows_; k++)
                        visit(i * block_rows_ + k / block_rows_, j * block_rows_ + k % block_rows_, from[k],
                              input_element(i, j, k / block_rows_, k % block_rows_));
    }

    std::size_t n_blocks_;
    std::size_t block_rows_;
    std::size_t sparsity_;
    std::size_t n_stored_ = 0; // stored blocks
    std::vector<double *> block_; // by row and column of blocks: points into elements_
    AlignedArray elements_;
};

} // namespace bots
