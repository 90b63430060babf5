// SPDX-License-Identifier: Apache-2.0
// Which thread of a team belongs to which domain, and the binding of those that nobody bound. Owns OMP_EXT_BIND's
// meaning; the domains themselves are topology.h's.
#pragma once

#include "placement/topology.h"

namespace omp_ext {

enum class BindMode {
    kNo,     // threads belong to domains, and run where the system lets them
    kDomain, // a thread that nobody bound is bound to its domain's CPUs
    kCore,   // ... in an outermost team with enough cores, to a core of its domain of its own
};

// The domains first, first + 1, … that a team may spread over. An outermost team: all. A nested one: those of the thread
// that began it, so that teams beside one another keep to domains of their own, as OpenMP's spread subdivides places.
struct DomainRange {
    int first = 0;
    int n = 1;
    friend bool operator==(const DomainRange &, const DomainRange &) = default;
};

// Where a worker of a team sits when nobody bound it.
struct Seat {
    int domain = 0;
    DomainRange own; // what a team that this worker begins may spread over
    int position = 0; // among the workers of the same domain
    int n_in_domain = 1; // those workers
};

// Workers of consecutive numbers go to the same domain or to the next. As many workers as domains, or more: each domain
// gets one, and the others go where the fewest are per CPU. Fewer: each has a range of domains and sits in its first.
Seat seat_of(const Topology &topology, DomainRange within, int worker, int n_workers);

// Finds the domain of the calling thread, which is to sit at `seat`, and binds it to that domain if nobody else bound it
// and `mode` and the machine allow. A thread that is bound to CPUs of one domain belongs to that one; one that is bound
// to CPUs of several sits in one of those. `is_outermost`: no team is around this one. Never fails.
int settle_calling_thread(const Topology &topology, BindMode mode, const Seat &seat, bool is_outermost);

// Around a fork: the child must not inherit what another thread was in the middle of.
void lock_bindings_for_fork();
void unlock_bindings_after_fork();

} // namespace omp_ext
