// SPDX-License-Identifier: Apache-2.0
// Whom a thread steals from, within a domain. The policies are those that Contreras and Martonosi compare (IISWC 2008):
// random, the fullest queue (occupancy), the fullest of a small group and then of another group at random (group), and
// the neighbours in the order of their numbers (nearest), which is how threads are bound.
#pragma once

#include <cstdint>

#include "team.h"

namespace omp_ext {

// The oldest task of some other member in `domain`, of tag min_tag or more; null when the policy finds none.
Task *steal_from(Member &thief, int domain, uint16_t min_tag);

} // namespace omp_ext
