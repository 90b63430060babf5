// SPDX-License-Identifier: Apache-2.0
// Makes the matrix from the options of sparselu.
#pragma once

#include "block_sparse_matrix.hpp"
#include "dense_block.hpp"
#include "options.hpp"

namespace bots {

inline BlockSparseMatrix make_sparselu_matrix(const Options &options) {
    const auto number = [&options](std::size_t i) { return static_cast<std::size_t>(options.inputs[i]); };
    return {number(0), (number(1) + 1) * kSmallestBlock, number(2)};
}

} // namespace bots
