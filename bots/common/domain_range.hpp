// SPDX-License-Identifier: Apache-2.0
// The range of locality domains for one part of a recursion, in the `locality` versions. Each division gives each of
// the two new parts one half of the domains. When one domain is left, it keeps all further parts. Needs the library of
// omp_ext/.
//
// Source: Olivier et al. (Scientific Programming 2013), Fig. 8; there the number of domains is a power of two.
#pragma once

#include <omp.h>

#include <cstddef>
#include <vector>

#include "omp_ext.h"

namespace bots {

class DomainRange {
public:
    DomainRange() : DomainRange(0, omp_get_num_locality_domains()) {}

    // Returns how many of n elements the first part gets: a share in proportion to its domains, or half if the range is
    // one domain.
    std::size_t cut(std::size_t n) const {
        if (n_ == 1) return n / 2;
        const std::size_t share = n * static_cast<std::size_t>(n_ / 2) / static_cast<std::size_t>(n_);
        return share > 0 ? share : 1;
    }
    DomainRange first_half() const { return n_ == 1 ? *this : DomainRange(first_, n_ / 2); }
    DomainRange second_half() const { return n_ == 1 ? *this : DomainRange(first_ + n_ / 2, n_ - n_ / 2); }
    // Returns the domains of part i of n equal parts, i < n: at least one domain. If there are fewer domains than
    // parts, several parts share a domain.
    DomainRange part(std::size_t i, std::size_t n) const {
        const auto n_domains = static_cast<std::size_t>(n_);
        const std::size_t first = n_domains * i / n;
        const std::size_t end = n_domains * (i + 1) / n;
        return DomainRange(first_ + static_cast<int>(first), end > first ? static_cast<int>(end - first) : 1);
    }
    void place_children() const { omp_child_task_affinity(first_); }

    bool is_one() const { return n_ == 1; }
    int first() const { return first_; }

private:
    DomainRange(int first, int n) : first_(first), n_(n) {}

    int first_;
    int n_;
};

// For each domain, calls visit(first, last, domain) with the part of [first, first + n) that the domain keeps.
template <class Visit>
void for_domain_parts(std::size_t first, std::size_t n, const DomainRange &domains, const Visit &visit) {
    if (domains.is_one()) return visit(first, first + n, domains.first());
    const std::size_t n_first = n == 0 ? 0 : domains.cut(n);
    for_domain_parts(first, n_first, domains.first_half(), visit);
    for_domain_parts(first + n_first, n - n_first, domains.second_half(), visit);
}

// Calls visit(owns) on every thread of a team, for first touch without tasks. owns(domain) is true if this thread
// should touch the memory of that domain. Exactly one thread owns each domain: one of the domain's threads or, if it
// has none, thread 0.
template <class Visit>
void on_domains(int n_threads, const Visit &visit) {
    std::vector<int> owners(static_cast<std::size_t>(omp_get_num_locality_domains()), 0);
#pragma omp parallel num_threads(n_threads)
    {
        const int thread = omp_get_thread_num();
        // Threads of the same domain write the same element, so they write one after the other.
#pragma omp critical
        owners[static_cast<std::size_t>(omp_get_locality_domain_num())] = thread;
#pragma omp barrier
        visit([&owners, thread](int domain) { return owners[static_cast<std::size_t>(domain)] == thread; });
    }
}

} // namespace bots
