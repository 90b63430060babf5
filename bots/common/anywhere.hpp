// SPDX-License-Identifier: Apache-2.0
//
// No placement of tasks: what the recursions that can spread their parts over locality domains are given when they
// need not. What they are given otherwise is domain_range.hpp's DomainRange.
#pragma once

#include <cstddef>
#include <utility>

namespace bots {

struct Anywhere {
    // How many of n parts in a row go into the first half.
    static constexpr std::size_t cut(std::size_t n) { return n / 2; }
    // The domains of the two halves.
    constexpr std::pair<Anywhere, Anywhere> halves() const { return {}; }
    // From here on the tasks that the current task creates belong to these domains.
    void place_children() const {}
};

} // namespace bots
