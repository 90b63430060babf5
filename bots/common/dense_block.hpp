// SPDX-License-Identifier: Apache-2.0
//
// Square matrices of double precision that are stored block by block, and the product of two blocks, for the programs
// on dense matrices. What is done with the blocks, and in which order, is the programs'.
//
//   work  2 n^3 operations for a product of blocks of n rows
//
// The product is written once, in dense_block.inc, with the compilers' vectors, compiled for each of the instruction
// sets of x86-64 that differ in their vectors, and chosen by the processor that the program runs on.
// Source of the scheme: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (TOMS 2008).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "instruction_set.hpp"

namespace bots {

inline constexpr std::size_t kSmallestBlock = 16;  // a block's number of rows is a multiple of it
inline constexpr std::size_t kBlockAlignment = 64; // bytes; of every block

// c += a * b, or c -= a * b, for blocks of n rows.
using BlockProduct = void (*)(const double *a, const double *b, double *c, std::size_t n);

// Per instruction set: doubles in a vector, and the tile of c that its registers hold, kRows x (kVectors * kLanes).
namespace dense {
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

template <bool kSubtract>
BlockProduct choose_product() {
#if defined(__x86_64__)
    switch (best_instruction_set()) {
    case InstructionSet::kAvx512: return avx512::accumulate_product<kSubtract>;
    case InstructionSet::kAvx2: return avx2::accumulate_product<kSubtract>;
    case InstructionSet::kBaseline: break;
    }
#endif
    return baseline::accumulate_product<kSubtract>;
}
} // namespace dense

inline const BlockProduct kAddProduct = dense::choose_product<false>();
inline const BlockProduct kSubtractProduct = dense::choose_product<true>();

// A square matrix in square blocks, each stored by rows. Rows and columns that fill up the last blocks belong to the
// storage, not to the matrix: their elements are whatever fill says.
class BlockMatrix {
public:
    BlockMatrix(std::size_t n_rows, std::size_t block_rows)
        : n_(n_rows), block_rows_(block_rows), n_blocks_((n_rows + block_rows - 1) / block_rows),
          elements_(static_cast<double *>(
              ::operator new[](stored_rows() * stored_rows() * sizeof(double), std::align_val_t{kBlockAlignment}))) {}

    // Sets every stored element to value(row, column), block by block.
    template <class Value>
    void fill(const Value &value) {
        double *element = elements_.get();
        for (std::size_t i = 0; i < n_blocks_; i++)
            for (std::size_t j = 0; j < n_blocks_; j++)
                for (std::size_t row = i * block_rows_; row < (i + 1) * block_rows_; row++)
                    for (std::size_t column = j * block_rows_; column < (j + 1) * block_rows_; column++)
                        *element++ = value(row, column);
    }
    void fill_with_zeros() { std::fill_n(elements_.get(), stored_rows() * stored_rows(), 0.0); }

    double *block(std::size_t i, std::size_t j) {
        return elements_.get() + (i * n_blocks_ + j) * block_rows_ * block_rows_;
    }
    const double *block(std::size_t i, std::size_t j) const { return const_cast<BlockMatrix *>(this)->block(i, j); }

    double at(std::size_t row, std::size_t column) const {
        return block(row / block_rows_, column / block_rows_)[row % block_rows_ * block_rows_ + column % block_rows_];
    }

    std::size_t n_rows() const { return n_; }                             // of the matrix
    std::size_t stored_rows() const { return n_blocks_ * block_rows_; }   // at least n_rows()
    std::size_t block_rows() const { return block_rows_; }                // and columns, of a block
    std::size_t n_blocks() const { return n_blocks_; }                    // on a side

private:
    struct Free {
        void operator()(double *elements) const { ::operator delete[](elements, std::align_val_t{kBlockAlignment}); }
    };

    std::size_t n_;
    std::size_t block_rows_;
    std::size_t n_blocks_;
    std::unique_ptr<double[], Free> elements_;
};

} // namespace bots
