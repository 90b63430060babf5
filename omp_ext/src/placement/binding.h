// SPDX-License-Identifier: Apache-2.0
// Assigns the threads of a team to domains, and binds threads that are not bound yet. Owns the meaning of OMP_EXT_BIND.
#pragma once

#include "placement/topology.h"

namespace omp_ext {

enum class BindMode {
    kNo, // threads belong to domains, but stay unbound
    kDomain, // binds unbound threads to the CPUs of their domain
    kCore, // binds each thread of an outermost team to a core of its own, if there are enough; else as kDomain
};

// The domains first, first + 1, … over which a team may spread. An outermost team may use all. A nested team may use
// the domains of the thread that began it, so sibling teams have separate domains, as with OpenMP's spread.
struct DomainRange {
    int first = 0;
    int n = 1;
    friend bool operator==(const DomainRange &, const DomainRange &) = default;
};

// The place of an unbound worker.
struct Seat {
    int domain = 0;
    DomainRange own; // for teams that this worker begins
    int position = 0; // among the workers of the same domain
    int n_in_domain = 1; // number of workers of the same domain
};

// Returns the seat of a worker. Workers with consecutive numbers get the same domain or the next. With at least as many
// workers as domains, each domain gets one worker, and each further worker goes where the fewest workers per CPU are.
// With fewer workers, each has a range of domains and sits in the first.
Seat seat_of(const Topology &topology, DomainRange within, int worker, int n_workers);

// Returns the domain of the calling thread. Binds the thread to CPUs of this domain that the program allows, if `mode`
// and the machine permit. A thread bound to CPUs of one domain belongs to it. A thread bound to CPUs of several
// domains belongs to one of them, preferably the domain of `seat`. `is_outermost`: the team is not nested. Never fails.
int settle_calling_thread(const Topology &topology, BindMode mode, const Seat &seat, bool is_outermost);

// Called around a fork, so the child does not inherit a locked mutex.
void lock_bindings_for_fork();
void unlock_bindings_after_fork();

} // namespace omp_ext
