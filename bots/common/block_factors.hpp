// SPDX-License-Identifier: Apache-2.0
// LU factorization of one block, without pivoting, and the triangular solves with its factors. The programs that factor
// matrices block by block use these kernels and the product of dense_block.hpp. The kernels are written in
// dense_block.inc, because most of their work is products of parts of blocks.
//
//   work  2/3 n^3 operations for a factorization, n^3 for a solve, on blocks of n rows
//
// Source: Golub and Van Loan, "Matrix computations".
#pragma once

#include <cstddef>

#include "dense_block.hpp"

namespace bots {

// Factors a block of n rows and columns into L U, L unit lower and U upper triangular. Replaces the block by L + U - I.
inline void factor_block(double *block, std::size_t n) { kBlockKernels.factor(block, n); }

// Computes block = L^-1 * block, for a block in the same row of blocks as the factored diagonal block.
inline void solve_beside(const double *diagonal, double *block, std::size_t n) {
    kBlockKernels.solve_beside(diagonal, block, n);
}

// Computes block = block * U^-1, for a block in the same column of blocks as the factored diagonal block.
inline void solve_below(const double *diagonal, double *block, std::size_t n) {
    kBlockKernels.solve_below(diagonal, block, n);
}

} // namespace bots
