// SPDX-License-Identifier: Apache-2.0
// The product of two tiles, on which the matrix multiplication spends its time. Three tiles of single precision fit
// together into a first-level cache of 32 KiB; a block of the result at a time stays in the registers.
//
//   work  kTile^3 multiply-adds
//
// The kernel is written once, in tile_product.inc, with the compilers' vector types. It is compiled once per vector
// instruction set of x86-64; the program chooses at start the best set that its processor has.
// Source of the scheme: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (TOMS 2008).
#pragma once

#include <cstddef>

#include "instruction_set.hpp"

namespace bots {

inline constexpr std::size_t kTile = 48; // rows and columns; a tile is stored by rows
inline constexpr std::size_t kTileFloats = kTile * kTile;
inline constexpr std::size_t kTileAlignment = 64; // bytes; of every tile

// Computes c += a * b.
using TileKernel = void (*)(const float *a, const float *b, float *c);

// Per instruction set, kLanes is the number of floats in a vector. A block of c of kRows x (kVectors * kLanes) elements
// fits in the registers.
#if defined(__x86_64__)

namespace avx512 { // 32 registers of 16 floats
inline constexpr std::size_t kLanes = 16, kRows = 8, kVectors = 3;
#define BOTS_INSTRUCTION_SET gnu::target("avx512f")
#include "tile_product.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace avx512

namespace avx2 { // 16 registers of 8 floats
inline constexpr std::size_t kLanes = 8, kRows = 6, kVectors = 2;
#define BOTS_INSTRUCTION_SET gnu::target("avx2,fma")
#include "tile_product.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace avx2

#endif

namespace baseline { // at least 16 registers of 4 floats: SSE2, NEON
inline constexpr std::size_t kLanes = 4, kRows = 4, kVectors = 3;
#define BOTS_INSTRUCTION_SET gnu::hot
#include "tile_product.inc"
#undef BOTS_INSTRUCTION_SET
} // namespace baseline

inline TileKernel choose_tile_kernel() {
#if defined(__x86_64__)
    switch (best_instruction_set()) {
    case InstructionSet::kAvx512: return avx512::multiply_add_tile;
    case InstructionSet::kAvx2: return avx2::multiply_add_tile;
    case InstructionSet::kBaseline: break;
    }
#endif
    return baseline::multiply_add_tile;
}

inline const TileKernel kMultiplyAddTile = choose_tile_kernel();

} // namespace bots
