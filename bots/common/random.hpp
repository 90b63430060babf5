// SPDX-License-Identifier: Apache-2.0
// Random numbers that depend only on a seed and on the number of earlier draws. They are the same on every machine.
//
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), SplitMix64.
#pragma once

#include <cstdint>

namespace bots {

// Maps 64-bit words to 64-bit words, one to one. The results for neighbouring arguments look unrelated.
constexpr std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

class Random {
public:
    constexpr explicit Random(std::uint64_t seed) : state_(seed) {}
    constexpr std::uint64_t draw() { return mix(state_ += kStep); }
    // Skips n draws.
    constexpr void skip(std::uint64_t n) { state_ += n * kStep; }

private:
    static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;

    std::uint64_t state_;
};

} // namespace bots
