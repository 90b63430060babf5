// SPDX-License-Identifier: Apache-2.0
// Elementary functions of two doubles at a time, without branches and calls, so that loops over them stay in vector
// registers on every machine. Accurate to a few units in the last place within the stated ranges; undefined outside.
//
// Sources: Muller, "Elementary functions" (2006), for reductions and series; Hart et al., "Computer approximations"
// (1968), rational approximation 5666, with the coefficients as in West, "Better approximations to cumulative normal
// functions" (Wilmott, 2005).
#pragma once

#include <bit>
#include <cstdint>

namespace bots {

inline constexpr int kLanes = 2;
using Doubles [[gnu::vector_size(16)]] = double;
using Words [[gnu::vector_size(16)]] = std::uint64_t;

inline Doubles fill(double value) { return Doubles{value, value}; }
inline Words bits_of(Doubles x) { return std::bit_cast<Words>(x); }
inline Doubles double_of(Words bits) { return std::bit_cast<Doubles>(bits); }

// Evaluates a polynomial; the arguments are the coefficients of x^0, x^1, ...
template <class... Rest>
Doubles polynomial(Doubles x, double first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0)
        return fill(first);
    else
        return first + x * polynomial(x, rest...);
}

inline constexpr double kLn2High = 0x1.62e42feep-1; // ln 2 to 32 bits, so that products with exponents are exact
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// Returns e^x for x in [-708, 709]: 2^k e^r with |r| <= ln 2 / 2, and Taylor's series for e^r.
inline Doubles exp_of(Doubles x) {
    constexpr double kRound = 0x1.8p52; // x + kRound holds x, rounded to a whole number, in its lowest bits
    const Doubles shifted = x * 0x1.71547652b82fep0 + kRound; // log2 e
    const Doubles k = shifted - kRound;
    const Doubles r = (x - k * kLn2High) - k * kLn2Low;
    const Doubles series = polynomial(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                                      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600);
    return series * double_of((bits_of(shifted) + 1023) << 52);
}

// Returns the natural logarithm of a normal x > 0: x = 2^k m with m around 1, log m = 2 artanh((m - 1) / (m + 1)).
inline Doubles log_of(Doubles x) {
    constexpr std::uint64_t kOne = 0x3ff0000000000000;
    constexpr std::uint64_t kRootHalf = 0x3fe6a09e00000000; // m >= sqrt(1/2), to 20 bits
    constexpr double kTwo52 = 0x1p52;
    const Words above = bits_of(x) + (kOne - kRootHalf);
    const Doubles m = double_of((above & 0x000fffffffffffff) + kRootHalf);
    const Doubles k = double_of((above >> 52) | std::bit_cast<std::uint64_t>(kTwo52)) - (kTwo52 + 1023);
    const Doubles s = (m - 1.0) / (m + 1.0);
    const Doubles series = polynomial(s * s, 2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
                                      2.0 / 17, 2.0 / 19, 2.0 / 21);
    return k * kLn2High + (s * series + k * kLn2Low);
}

// Returns square roots. Compilers turn the two calls into one vector instruction.
inline Doubles sqrt_of(Doubles x) { return Doubles{__builtin_sqrt(x[0]), __builtin_sqrt(x[1])}; }

// Returns the distribution function of the normal distribution; the absolute error is below 1e-14 everywhere.
inline Doubles normal_distribution(Doubles x) {
    Doubles size = x < 0.0 ? -x : x;
    size = size < 37.0 ? size : fill(37.0);
    const Doubles above = polynomial(size, 220.206867912376, 221.213596169931, 112.079291497871, 33.912866078383,
                                     6.37396220353165, 0.700383064443688, 0.0352624965998911);
    const Doubles below = polynomial(size, 440.413735824752, 793.826512519948, 637.333633378831, 296.564248779674,
                                     86.7807322029461, 16.064177579207, 1.75566716318264, 0.0883883476483184);
    const Doubles tail = exp_of(-0.5 * size * size) * above / below;
    return x < 0.0 ? tail : 1.0 - tail;
}

// Two independent numbers from the normal distribution, made from two random words per lane.
//
// Source: Box and Muller, "A note on the generation of random normal deviates" (1958).
struct NormalPair {
    Doubles first, second;
};

inline NormalPair normal_pair(Words radius_bits, Words angle_bits) {
    constexpr std::uint64_t kOne = 0x3ff0000000000000;
    const Doubles u = 2.0 - double_of((radius_bits >> 12) | kOne); // in (0, 1]
    const Doubles radius = sqrt_of(-2.0 * log_of(u));
    // A quarter of the angle, in [-pi/4, pi/4); its sine and cosine are doubled twice.
    const Doubles angle = (double_of((angle_bits >> 12) | kOne) - 1.5) * 0x1.921fb54442d18p0;
    const Doubles square = angle * angle;
    const Doubles sine1 = angle * polynomial(square, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                             -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000);
    const Doubles cosine1 = polynomial(square, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                                       1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000);
    const Doubles sine2 = 2.0 * sine1 * cosine1;
    const Doubles cosine2 = 1.0 - 2.0 * sine1 * sine1;
    return {radius * (1.0 - 2.0 * sine2 * sine2), radius * (2.0 * sine2 * cosine2)};
}

} // namespace bots
