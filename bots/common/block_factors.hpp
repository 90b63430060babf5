// SPDX-License-Identifier: Apache-2.0
// LU factorization of one block, without pivoting, and the triangular solves with its factors: with the product of
// dense_block.hpp, the kernels of the programs that factor matrices block by block. They are written in
// dense_block.inc, for blocks as there, because most of their work is products of parts of blocks.
//
//   work  2/3 n^3 operations for a factorization, n^3 for a solve, on blocks of n rows
//
// Source: Golub and Van Loan, "Matrix computations".
#pragma once

#include <cstddef>

#include "dense_block.hpp"

namespace bots {

// block = L + U - I with L U = block, L unit lower and U upper triangular; n rows and columns.
inline void factor_block(double *block, std::size_t n) { kBlockKernels.factor(block, n); }

// block = L^-1 * block, for a block beside the factored one of the diagonal.
inline void solve_beside(const double *diagonal, double *block, std::size_t n) {
    kBlockKernels.solve_beside(diagonal, block, n);
}

// block = block * U^-1, for a block below the factored one of the diagonal.
inline void solve_below(const double *diagonal, double *block, std::size_t n) {
    kBlockKernels.solve_below(diagonal, block, n);
}

} // namespace bots
