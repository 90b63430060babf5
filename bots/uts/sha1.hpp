// SPDX-License-Identifier: Apache-2.0
// SHA-1 of messages that fit in one block, as words, for the splittable random numbers of UTS.
//
// Source: NIST, FIPS 180-4, "Secure hash standard", sections 5.1.1 and 6.1.2.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bots {

// The five words of a digest; in bytes, each word's most significant byte comes first.
using Digest = std::array<std::uint32_t, 5>;

inline constexpr std::size_t kSha1MaxWords = 13; // words of a message whose end mark and length fit in the block

// Returns the digest of a message of kWords words, most significant byte first.
template <std::size_t kWords>
constexpr Digest sha1(const std::array<std::uint32_t, kWords> &message) {
    static_assert(kWords <= kSha1MaxWords);
    std::uint32_t words[16] = {}; // the last 16 words of the message schedule
    for (std::size_t i = 0; i < kWords; i++) words[i] = message[i];
    words[kWords] = 0x80000000;
    words[15] = 32 * kWords; // the message's length in bits

    constexpr Digest kStart = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    std::uint32_t a = kStart[0], b = kStart[1], c = kStart[2], d = kStart[3], e = kStart[4];
    const auto round = [&](std::size_t t, std::uint32_t mixed, std::uint32_t constant) {
        std::uint32_t &word = words[t % 16];
        if (t >= 16) word = std::rotl(words[(t + 13) % 16] ^ words[(t + 8) % 16] ^ words[(t + 2) % 16] ^ word, 1);
        const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + word;
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    };
#pragma GCC unroll 20
    for (std::size_t t = 0; t < 20; t++) round(t, d ^ (b & (c ^ d)), 0x5a827999);
#pragma GCC unroll 20
    for (std::size_t t = 20; t < 40; t++) round(t, b ^ c ^ d, 0x6ed9eba1);
#pragma GCC unroll 20
    for (std::size_t t = 40; t < 60; t++) round(t, (b & c) | (d & (b | c)), 0x8f1bbcdc);
#pragma GCC unroll 20
    for (std::size_t t = 60; t < 80; t++) round(t, b ^ c ^ d, 0xca62c1d6);
    return {kStart[0] + a, kStart[1] + b, kStart[2] + c, kStart[3] + d, kStart[4] + e};
}

// The digest of "abcd": the one-block example of FIPS 180, "abc", is not a whole number of words.
static_assert(sha1(std::array<std::uint32_t, 1>{0x61626364}) ==
              Digest{0x81fe8bfe, 0x87576c3e, 0xcb22426f, 0x8e578473, 0x82917acf});

} // namespace bots
