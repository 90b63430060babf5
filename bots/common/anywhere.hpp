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
    constexpr Anywhere part(std::size_t, std::size_t) const { return {}; }
    // Does nothing. In a DomainRange, places later children of the current task in the first domain of the range.
    void place_children() const {}
};

// The two halves of a range of domains.
template <class Domains>
struct Halves {
    explicit constexpr Halves(const Domains &domains) : first(domains.first_half()), second(domains.second_half()) {}
    Domains first;
    Domains second;
};

} // namespace bots
