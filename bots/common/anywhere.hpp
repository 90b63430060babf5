// SPDX-License-Identifier: Apache-2.0
// Anywhere: the type of a recursive function's argument `domains` in versions of a program that do not place tasks. The
// `locality` versions pass a DomainRange (domain_range.hpp) instead.
#pragma once

#include <cstddef>

namespace bots {

struct Anywhere {
    // Returns how many of n consecutive parts belong to the first half of the domains.
    static constexpr std::size_t cut(std::size_t n) { return n / 2; }
    constexpr Anywhere first_half() const { return {}; }
    constexpr Anywhere second_half() const { return {}; }
    // Places later children of the current task in these domains. Here it does nothing.
    void place_children() const {}
};

// The two halves of a range of domains.
template <class Domains>
struct Halves {
    explicit constexpr Halves(const Domains &domains) : first(domains.first_half()), second(domains.second_half()) {}
    Domains first;
    Domains second;
};

// Returns the i-th quarter of a range of domains, i = 0 ... 3.
template <class Domains>
constexpr Domains quarter_of(const Domains &domains, int i) {
    const Domains half = i < 2 ? domains.first_half() : domains.second_half();
    return i % 2 == 0 ? half.first_half() : half.second_half();
}

} // namespace bots
