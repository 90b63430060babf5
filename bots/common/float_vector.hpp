// SPDX-License-Identifier: Apache-2.0
// Vectors of four floats, available on every processor.
#pragma once

#include <cstddef>

namespace bots {

inline constexpr std::size_t kFloats = 4;

// Has the alignment of one float, so that a vector can start at any element of an array.
using Floats [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;

inline Floats load_floats(const float *from) { return *reinterpret_cast<const Floats *>(from); }
inline void store_floats(float *to, Floats values) { *reinterpret_cast<Floats *>(to) = values; }
// True if a comparison holds for at least one float. `lanes`: the result of the comparison.
template <class Lanes>
inline bool any_of(Lanes lanes) {
    using Halves [[gnu::vector_size(16)]] = long long;
    const auto halves = reinterpret_cast<Halves>(lanes);
    return (halves[0] | halves[1]) != 0;
}
inline float sum_of(Floats values) { return (values[0] + values[1]) + (values[2] + values[3]); }

} // namespace bots
