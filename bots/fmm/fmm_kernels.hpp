// SPDX-License-Identifier: Apache-2.0
// The kernels of the fast multipole method behind one table, for the order of the expansions and the instruction set.
#pragma once

#include <cstddef>

#include "expansion.hpp"

namespace bots {

inline constexpr std::size_t kBlock = 8; // bodies in a block, which a kernel handles together

struct alignas(kBlock * sizeof(float)) BodyBlock {
    float x[kBlock], y[kBlock], z[kBlock], charge[kBlock];
};

// The potential at the bodies of a BodyBlock, and its gradient.
struct alignas(kBlock * sizeof(float)) FieldBlock {
    float potential[kBlock], x[kBlock], y[kBlock], z[kBlock];
};

inline constexpr int kMinOrder = 2;
inline constexpr int kMaxOrder = 5;

struct FmmKernels {
    void (*p2p)(const BodyBlock *targets, std::size_t n_target_blocks, FieldBlock *results, const BodyBlock *sources,
                std::size_t n_sources);
    void (*m2l)(const Point &d, const float *multipole, float *local);
    void (*p2m)(const Point &offset, float charge, float *multipole);
    void (*m2m)(const Point &offset, const float *child, float *parent);
    void (*l2l)(const Point &offset, const float *parent, float *child);
    Field (*l2p)(const Point &offset, const float *local);
};

// Returns the kernels for an order from kMinOrder to kMaxOrder and the best instruction set of this processor.
FmmKernels fmm_kernels(int order);

} // namespace bots
