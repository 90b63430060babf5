// SPDX-License-Identifier: Apache-2.0
// The kernels of the fast multipole method, for every order and instruction set.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "fmm_kernels.hpp"
#include "instruction_set.hpp"

namespace bots {

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

namespace {

template <int kOrder = kMinOrder>
FmmKernels kernels_from(int order) {
    if constexpr (kOrder < kMaxOrder) {
        if (order > kOrder) return kernels_from<kOrder + 1>(order);
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

} // namespace

FmmKernels fmm_kernels(int order) { return kernels_from(order); }

} // namespace bots
