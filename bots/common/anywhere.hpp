// SPDX-License-Identifier: Apache-2.0
// No placement of tasks: the argument of the recursions that can spread their parts over locality domains, in the
// versions that do not. The others pass domain_range.hpp's DomainRange.
#pragma once

#include <cstddef>

namespace bots {

struct Anywhere {
    // How many of n parts in a row belong to the first half of the domains.
    static constexpr std::size_t cut(std::size_t n) { return n / 2; }
    constexpr Anywhere first_half() const { return {}; }
    constexpr Anywhere second_half() const { return {}; }
    // From here on the tasks that the current task creates run in these domains.
    void place_children() const {}
};

// Both halves of a range of domains.
template <class Domains>
struct Halves {
    explicit constexpr Halves(const Domains &domains) : first(domains.first_half()), second(domains.second_half()) {}
    Domains first;
    Domains second;
};

// The i-th quarter of a range of domains, i = 0 ... 3.
template <class Domains>
constexpr Domains quarter_of(const Domains &domains, int i) {
    const Domains half = i < 2 ? domains.first_half() : domains.second_half();
    return i % 2 == 0 ? half.first_half() : half.second_half();
}

} // namespace bots
