// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the fast multipole method behind one table, for the order of the expansions and the instruction set.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "expansion.hpp"
#include "instruction_set.hpp"

namespace bots {

inline constexpr std::size_t kBlock = 8; // bodies that are handled together

struct alignas(kBlock * sizeof(float)) BodyBlock {
    float x[kBlock], y[kBlock], z[kBlock], charge[kBlock];
};

// The potential at the bodies of a BodyBlock, and its gradient.
struct alignas(kBlock * sizeof(float)) FieldBlock {
    float potential[kBlock], x[kBlock], y[kBlock], z[kBlock];
};

#if defined(__x86_64__)
namespace fmm_avx2 {
#define BOTS_INSTRUCTION_SET gnu::target("avx2,fma")
#include "fmm_kernels.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace fmm_avx2
#endif

namespace fmm_baseline {
#define BOTS_INSTRUCTION_SET gnu::hot
#include "fmm_kernels.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace fmm_baseline

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

template <int kOrder = kMinOrder>
FmmKernels fmm_kernels(int order) {
    if constexpr (kOrder < kMaxOrder) {
        if (order > kOrder) return fmm_kernels<kOrder + 1>(order);
    }
    FmmKernels kernels = {fmm_baseline::p2p, fmm_baseline::m2l<kOrder>, p2m<kOrder>, m2m<kOrder>, l2l<kOrder>,
                          l2p<kOrder>};
#if defined(__x86_64__)
    if (best_instruction_set() != InstructionSet::kBaseline) {
        kernels.p2p = fmm_avx2::p2p;
        kernels.m2l = fmm_avx2::m2l<kOrder>;
    }
#endif
    return kernels;
}

} // namespace bots
