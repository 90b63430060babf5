// SPDX-License-Identifier: Apache-2.0
//
// LU factorization of one block, without pivoting, and the triangular solves with its factors: with the product of
// dense_block.hpp, the kernels of the programs that factor matrices block by block. Blocks are stored by rows.
//
//   work  2/3 n^3 operations for a factorization, n^3 for a solve, on blocks of n rows
//
// Source: Golub and Van Loan, "Matrix computations".
#pragma once

#include <cstddef>

namespace bots {

// row -= factor * other, in [first, n)
inline void subtract_row(double *row, double factor, const double *other, std::size_t first, std::size_t n) {
    for (std::size_t j = first; j < n; j++) row[j] -= factor * other[j];
}

// block = L + U - I with L U = block, L unit lower and U upper triangular; n rows and columns.
inline void factor_block(double *block, std::size_t n) {
    for (std::size_t k = 0; k < n; k++) {
        const double inverse = 1 / block[k * n + k];
        for (std::size_t i = k + 1; i < n; i++) {
            const double factor = block[i * n + k] *= inverse;
            subtract_row(block + i * n, factor, block + k * n, k + 1, n);
        }
    }
}

// block = L^-1 * block, for a block beside the factored one of the diagonal.
inline void solve_beside(const double *diagonal, double *block, std::size_t n) {
    for (std::size_t i = 1; i < n; i++)
        for (std::size_t k = 0; k < i; k++) subtract_row(block + i * n, diagonal[i * n + k], block + k * n, 0, n);
}

// block = block * U^-1, for a block below the factored one of the diagonal.
inline void solve_below(const double *diagonal, double *block, std::size_t n) {
    for (std::size_t k = 0; k < n; k++) {
        const double inverse = 1 / diagonal[k * n + k];
        for (std::size_t i = 0; i < n; i++) {
            const double factor = block[i * n + k] *= inverse;
            subtract_row(block + i * n, factor, diagonal + k * n, k + 1, n);
        }
    }
}

} // namespace bots
