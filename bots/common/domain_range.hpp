// SPDX-License-Identifier: Apache-2.0
//
// The locality domains that a part of a recursion is spread over, for the versions `locality`: a half of the parts goes
// to a half of the domains, until one domain is left, which keeps all further parts. Needs the library of omp_ext/.
//
// Source: Olivier et al. (Scientific Programming 2013), Fig. 8; there the number of domains is a power of two.
#pragma once

#include <cstddef>

#include "omp_ext.h"

namespace bots {

class DomainRange {
public:
    DomainRange() : DomainRange(0, omp_get_num_locality_domains()) {}

    std::size_t cut(std::size_t n) const {
        if (n_ == 1) return n / 2;
        const std::size_t share = n * static_cast<std::size_t>(n_ / 2) / static_cast<std::size_t>(n_);
        return share > 0 ? share : 1;
    }
    DomainRange first_half() const { return n_ == 1 ? *this : DomainRange(first_, n_ / 2); }
    DomainRange second_half() const { return n_ == 1 ? *this : DomainRange(first_ + n_ / 2, n_ - n_ / 2); }
    void place_children() const { omp_child_task_affinity(first_); }

    bool is_one() const { return n_ == 1; }
    int first() const { return first_; }

private:
    DomainRange(int first, int n) : first_(first), n_(n) {}

    int first_;
    int n_;
};

} // namespace bots
