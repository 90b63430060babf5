// SPDX-License-Identifier: Apache-2.0
// Whom a thread steals from, within a domain. The policies are those that Contreras and Martonosi compare (IISWC 2008):
// random, the fullest queue (occupancy), the fullest of a small group and then of another group at random (group), and
// the neighbours in the order of their numbers (nearest), which is how threads are bound.
#pragma once

#include <cstdint>

#include "scheduler/team.h"

namespace omp_ext {

// What a thief looks for: the oldest task of some other worker in `domain` that has more than n_left, with that tag or more.
struct StealTarget {
    int domain;
    uint16_t min_tag;
    int64_t n_left;
};

// Null when the policy finds none.
Task *steal(Worker &thief, const StealTarget &target);

} // namespace omp_ext
