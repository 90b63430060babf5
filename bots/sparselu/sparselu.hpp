// SPDX-License-Identifier: Apache-2.0
// LU factorization of a sparse matrix of blocks, in place and right-looking, without pivoting. Zero blocks are neither
// stored nor computed. Steps fill in blocks, so that early steps change few blocks and late steps many. The sparser the
// matrix, the more unbalanced are the loops over blocks.
//
//   work  2 b^3 operations for each product of blocks of b rows, and fewer for the other three kernels; a matrix of
//         n x n blocks has at most n^3/3 products
//   span  Theta(n b^3): three kernels in each of the n steps
//
// Sources: Golub and Van Loan, "Matrix computations", for the algorithm; Duran et al., "Barcelona OpenMP Tasks Suite"
// (ICPP 2009), for the benchmark, which is in single precision; Olivier et al. (2013) run it on 100 x 100 blocks of 100
// x 100 elements. The arithmetic is in block_factors.hpp and dense_block.hpp, the matrix in block_sparse_matrix.hpp,
// the tasks are in sparselu_tasks.hpp.
#pragma once

#include <cstddef>

#include "block_factors.hpp"
#include "block_sparse_matrix.hpp"
#include "dense_block.hpp"
#include "ompass.h"

namespace bots {

// The kernels on blocks of the matrix, named as in the suite of Duran et al.

// Replaces the diagonal block of step k by its factors.
inline void lu0(BlockSparseMatrix &matrix, std::size_t k) {
    const ompass::Kernel kernel("lu0");
    kernel.write(matrix.block(k, k), matrix.block_bytes());
    factor_block(matrix.block(k, k), matrix.block_rows());
}

// Solves block (k, j), right of the diagonal, for the lower factor.
inline void fwd(BlockSparseMatrix &matrix, std::size_t k, std::size_t j) {
    const ompass::Kernel kernel("fwd");
    kernel.read(matrix.block(k, k), matrix.block_bytes());
    kernel.write(matrix.block(k, j), matrix.block_bytes());
    solve_beside(matrix.block(k, k), matrix.block(k, j), matrix.block_rows());
}

// Solves block (i, k), below the diagonal, for the upper factor.
inline void bdiv(BlockSparseMatrix &matrix, std::size_t k, std::size_t i) {
    const ompass::Kernel kernel("bdiv");
    kernel.read(matrix.block(k, k), matrix.block_bytes());
    kernel.write(matrix.block(i, k), matrix.block_bytes());
    solve_below(matrix.block(k, k), matrix.block(i, k), matrix.block_rows());
}

// Subtracts the product of blocks (i, k) and (k, j) from block (i, j).
inline void bmod(BlockSparseMatrix &matrix, std::size_t k, std::size_t i, std::size_t j) {
    const ompass::Kernel kernel("bmod");
    kernel.read(matrix.block(i, k), matrix.block_bytes());
    kernel.read(matrix.block(k, j), matrix.block_bytes());
    kernel.write(matrix.block(i, j), matrix.block_bytes());
    kBlockKernels.subtract_product(matrix.block(i, k), matrix.block(k, j), matrix.block(i, j), matrix.block_rows());
}

// Executes the steps from `first_step` on.
inline void factor_serial(BlockSparseMatrix &matrix, std::size_t first_step) {
    const std::size_t n = matrix.n_blocks();
    for (std::size_t k = first_step; k < n; k++) {
        lu0(matrix, k);
        for (std::size_t j = k + 1; j < n; j++)
            if (matrix.has(k, j)) fwd(matrix, k, j);
        for (std::size_t i = k + 1; i < n; i++) {
            if (!matrix.has(i, k)) continue;
            bdiv(matrix, k, i);
            for (std::size_t j = k + 1; j < n; j++)
                if (matrix.has(k, j)) bmod(matrix, k, i, j);
        }
    }
}

// The numbers of blocks that step k changes: right of the diagonal block, below it, and in the trailing matrix.
struct StepSize {
    std::size_t n_fwd = 0, n_bdiv = 0;
    std::size_t n_bmod() const { return n_fwd * n_bdiv; }
};

inline StepSize step_size(const BlockSparseMatrix &matrix, std::size_t k) {
    StepSize size;
    for (std::size_t i = k + 1; i < matrix.n_blocks(); i++) {
        size.n_fwd += matrix.has(k, i);
        size.n_bdiv += matrix.has(i, k);
    }
    return size;
}

// Returns the number of floating-point operations of a factorization.
inline double n_operations(const BlockSparseMatrix &matrix) {
    const auto rows = static_cast<double>(matrix.block_rows());
    double in_cubes = 0; // operations, in units of the cube of a block's rows
    for (std::size_t k = 0; k < matrix.n_blocks(); k++) {
        const StepSize size = step_size(matrix, k);
        in_cubes += 2.0 / 3 + static_cast<double>(size.n_fwd + size.n_bdiv + 2 * size.n_bmod());
    }
    return in_cubes * rows * rows * rows;
}

} // namespace bots
