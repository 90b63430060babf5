// SPDX-License-Identifier: Apache-2.0
// The similarity of two amino acids: the scores of BLOSUM62, and the penalty of a gap.
//
// Source: Henikoff and Henikoff, "Amino acid substitution matrices from protein blocks" (PNAS 1992), in half bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bots {

inline constexpr std::string_view kAminoAcids = "ARNDCQEGHILKMFPSTWYV"; // a residue is an index into it
inline constexpr std::size_t kAlphabet = kAminoAcids.size();

using Residue = std::uint8_t;
using Score = std::int32_t;

// A gap of n residues costs kGapOpen + n * kGapExtend.
inline constexpr Score kGapOpen = 10;
inline constexpr Score kGapExtend = 1;

using Substitution = std::array<std::array<Score, kAlphabet>, kAlphabet>;

// The lower triangle, row by row; the upper one is its mirror image.
inline constexpr Substitution kSubstitution = [] {
    constexpr std::array<std::int8_t, kAlphabet *(kAlphabet + 1) / 2> kLower = {
        4,                                                                   // A
        -1, 5,                                                               // R
        -2, 0,  6,                                                           // N
        -2, -2, 1,  6,                                                       // D
        0,  -3, -3, -3, 9,                                                   // C
        -1, 1,  0,  0,  -3, 5,                                               // Q
        -1, 0,  0,  2,  -4, 2,  5,                                           // E
        0,  -2, 0,  -1, -3, -2, -2, 6,                                       // G
        -2, 0,  1,  -1, -3, 0,  0,  -2, 8,                                   // H
        -1, -3, -3, -3, -1, -3, -3, -4, -3, 4,                               // I
        -1, -2, -3, -4, -1, -2, -3, -4, -3, 2,  4,                           // L
        -1, 2,  0,  -1, -3, 1,  1,  -2, -1, -3, -2, 5,                       // K
        -1, -1, -2, -3, -1, 0,  -2, -3, -2, 1,  2,  -1, 5,                   // M
        -2, -3, -3, -3, -2, -3, -3, -3, -1, 0,  0,  -3, 0,  6,               // F
        -1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7,           // P
        1,  -1, 1,  0,  -1, 0,  0,  0,  -1, -2, -2, 0,  -1, -2, -1, 4,       // S
        0,  -1, 0,  -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1,  5,   // T
        -3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1,  -4, -3, -2, 11, // W
        -2, -2, -2, -3, -2, -1, -2, -3, 2,  -1, -1, -2, -1, 3,  -3, -2, -2, 2,  7, // Y
        0,  -3, -3, -3, -1, -2, -2, -3, -3, 3,  1,  -2, 1,  -1, -2, -2, 0,  -3, -1, 4, // V
    };
    Substitution scores = {};
    std::size_t next = 0;
    for (std::size_t i = 0; i < kAlphabet; i++)
        for (std::size_t j = 0; j <= i; j++) scores[i][j] = scores[j][i] = kLower[next++];
    return scores;
}();

} // namespace bots
