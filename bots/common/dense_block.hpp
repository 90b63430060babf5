// SPDX-License-Identifier: Apache-2.0
// Square matrices of double precision, stored block by block, and the product of two blocks. The programs decide which
// blocks they multiply, and in which order. block_factors.hpp has the other kernels on blocks.
//
//   work  2 n^3 operations for a product of blocks of n rows
//
// The kernels are written once, in dense_block.inc, with the compilers' vector types. They are compiled once per vector
// instruction set of x86-64; the program chooses at start the best set that its processor has.
// Source of the scheme: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (TOMS 2008).
#pragma once

#include <algorithm>
#include <cstddef>

#include "aligned_array.hpp"
#include "instruction_set.hpp"

namespace bots {

inline constexpr std::size_t kSmallestBlock = 16; // rows; the number of rows of every block is a multiple of it

// Kernels for blocks of n rows and columns, stored by rows, that start on a cache line, as in an AlignedArray.
struct BlockKernels {
    using Product = void (*)(const double *a, const double *b, double *c, std::size_t n);
    using Solve = void (*)(const double *diagonal, double *block, std::size_t n);

    Product add_product; // c += a * b
    Product subtract_product; // c -= a * b
    Product set_product; // c = a * b
    // See block_factors.hpp.
    void (*factor)(double *block, std::size_t n);
    Solve solve_beside;
    Solve solve_below;
};

// Per instruction set, kLanes is the number of doubles in a vector. A tile of c of kRows x (kVectors * kLanes) elements
// fits in the registers.
namespace dense {
enum class Update { kAdd, kSubtract, kSet }; // the effect of a product on c

#if defined(__x86_64__)

namespace avx512 { // 32 registers of 8 doubles
inline constexpr std::size_t kLanes = 8, kRows = 8, kVectors = 2;
#define BOTS_INSTRUCTION_SET gnu::target("avx512f")
#include "dense_block.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace avx512

namespace avx2 { // 16 registers of 4 doubles
inline constexpr std::size_t kLanes = 4, kRows = 4, kVectors = 2;
#define BOTS_INSTRUCTION_SET gnu::target("avx2,fma")
#include "dense_block.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace avx2

#endif

namespace baseline { // at least 16 registers of 2 doubles: SSE2, NEON
inline constexpr std::size_t kLanes = 2, kRows = 4, kVectors = 2;
#define BOTS_INSTRUCTION_SET gnu::hot
#include "dense_block.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace baseline

inline const BlockKernels &best_kernels() {
#if defined(__x86_64__)
    switch (best_instruction_set()) {
    case InstructionSet::kAvx512: return avx512::kKernels;
    case InstructionSet::kAvx2: return avx2::kKernels;
    case InstructionSet::kBaseline: break;
    }
#endif
    return baseline::kKernels;
}
} // namespace dense

inline const BlockKernels kBlockKernels = dense::best_kernels();

// A square matrix in square blocks, each stored by rows. The last blocks may be padded with rows and columns that do
// not belong to the matrix; fill sets their elements too.
class BlockMatrix {
public:
    BlockMatrix(std::size_t n_rows, std::size_t block_rows)
        : n_(n_rows), block_rows_(block_rows), n_blocks_((n_rows + block_rows - 1) / block_rows),
          elements_(stored_rows() * stored_rows()) {}

    // Sets every stored element to value(row, column), block by block.
    template <class Value>
    void fill(const Value &value) {
        double *element = elements_.data();
        for (std::size_t i = 0; i < n_blocks_; i++)
            for (std::size_t j = 0; j < n_blocks_; j++)
                for (std::size_t row = i * block_rows_; row < (i + 1) * block_rows_; row++)
                    for (std::size_t column = j * block_rows_; column < (j + 1) * block_rows_; column++)
                        *element++ = value(row, column);
    }
    void fill_with_zeros() { std::fill_n(elements_.data(), stored_rows() * stored_rows(), 0.0); }

    double *block(std::size_t i, std::size_t j) {
        return elements_.data() + (i * n_blocks_ + j) * block_rows_ * block_rows_;
    }
    const double *block(std::size_t i, std::size_t j) const { return const_cast<BlockMatrix *>(this)->block(i, j); }

    double at(std::size_t row, std::size_t column) const {
        return block(row / block_rows_, column / block_rows_)[row % block_rows_ * block_rows_ + column % block_rows_];
    }

    std::size_t n_rows() const { return n_; } // without padding
    std::size_t stored_rows() const { return n_blocks_ * block_rows_; } // with padding
    std::size_t block_rows() const { return block_rows_; } // rows, and columns, of a block
    std::size_t n_blocks() const { return n_blocks_; } // on a side of the matrix

private:
    std::size_t n_;
    std::size_t block_rows_;
    std::size_t n_blocks_;
    AlignedArray elements_;
};

} // namespace bots
