// SPDX-License-Identifier: Apache-2.0
// The matrices of strassen: two factors, random from a fixed seed, the result, and its verification. The elements are
// small whole numbers, so that the sums of Strassen's algorithm are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aligned_array.hpp"
#include "random.hpp"
#include "strassen.hpp"

namespace bots {

// Returns the index of the element of a row and column in a matrix that is stored by quadrants.
constexpr std::size_t quadrant_index(std::size_t row, std::size_t column, std::size_t n_rows) {
    if (n_rows <= kLeafRows) return row * n_rows + column;
    const std::size_t half = n_rows / 2;
    const std::size_t quadrant = row / half * 2 + column / half;
    return quadrant * half * half + quadrant_index(row % half, column % half, half);
}

class StrassenInput {
public:
    // `n_rows`: kLeafRows times a power of two.
    explicit StrassenInput(std::size_t n_rows)
        : n_rows_(n_rows), a_(n_rows * n_rows), b_(n_rows * n_rows), c_(n_rows * n_rows) {}

    // Sets elements [first, last), in storage order: random in the factors, zero in the result. May be called in any
    // order and by any thread.
    void fill(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; i++) {
            a_[i] = small_number(i);
            b_[i] = small_number(~i);
            c_[i] = 0;
        }
    }

    // Checks that c x = a (b x) for a random x (Freivalds, 1977). A wrong c passes with probability 2^-20 or less.
    std::string check() const {
        Random random(kSeed);
        std::vector<std::int64_t> x(n_rows_);
        for (std::int64_t &component : x) component = static_cast<std::int64_t>(random.draw() >> 44);
        const std::vector<std::int64_t> expected = product(a_, product(b_, x));
        const std::vector<std::int64_t> found = product(c_, x);
        if (found.empty()) return "an element of the product is not a number, or exceeds the bound";
        for (std::size_t row = 0; row < n_rows_; row++)
            if (found[row] != expected[row]) return "row " + std::to_string(row) + " of the product is wrong";
        return "";
    }

    std::string describe() const { return "product of matrices of " + std::to_string(n_rows_) + " rows, exact"; }

    double *a() { return a_.data(); }
    double *b() { return b_.data(); }
    double *c() { return c_.data(); }
    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_elements() const { return n_rows_ * n_rows_; }

private:
    static constexpr std::uint64_t kSeed = 19690813;

    static double small_number(std::size_t i) { return static_cast<double>(mix(kSeed + i) % 17) - 8; }

    // Returns matrix * x; empty if an element cannot belong to the product.
    std::vector<std::int64_t> product(const AlignedArray &matrix, const std::vector<std::int64_t> &x) const {
        std::vector<std::int64_t> y(n_rows_);
        for (std::size_t row = 0; row < n_rows_; row++)
            for (std::size_t column = 0; column < n_rows_; column += kLeafRows) { // a leaf's row is contiguous
                const double *const elements = matrix.data() + quadrant_index(row, column, n_rows_);
                for (std::size_t i = 0; i < kLeafRows; i++) {
                    const double element = elements[i];
                    if (!(element > -0x1p40 && element < 0x1p40)) return {};
                    y[row] += static_cast<std::int64_t>(element) * x[column + i];
                }
            }
        return y;
    }

    std::size_t n_rows_;
    AlignedArray a_, b_, c_;
};

} // namespace bots
