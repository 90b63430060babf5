// SPDX-License-Identifier: Apache-2.0
// Detects the vector instructions of the processor, for kernels that are compiled for several instruction sets and
// chosen when the program starts. The kernels' own files define their versions. BOTS_VECTORS=0 in the environment
// chooses the baseline, for comparisons with older processors.
#pragma once

#include <cstdlib>
#include <string_view>

namespace bots {

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

inline InstructionSet best_instruction_set() {
    const char *const vectors = std::getenv("BOTS_VECTORS");
    if (vectors && std::string_view(vectors) == "0") return InstructionSet::kBaseline;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return InstructionSet::kAvx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return InstructionSet::kAvx2;
#endif
    return InstructionSet::kBaseline;
}

constexpr std::string_view name_of(InstructionSet set) {
    switch (set) {
    case InstructionSet::kAvx512: return "AVX-512";
    case InstructionSet::kAvx2: return "AVX2";
    case InstructionSet::kBaseline: break;
    }
    return "the baseline";
}

} // namespace bots
