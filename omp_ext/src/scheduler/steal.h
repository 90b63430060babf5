// SPDX-License-Identifier: Apache-2.0
// Steals tasks from workers of a domain.
#pragma once

#include <cstdint>

#include "scheduler/team.h"

namespace omp_ext {

// The task that a thief looks for: the oldest task of another worker in `domain` with more than n_left tasks. Its tag
// (depth) must be at least min_tag.
struct StealTarget {
    int domain;
    uint16_t min_tag;
    int64_t n_left;
};

// Steals a task by the policy of OMP_EXT_STEAL. Null: it found none.
Task *steal(Worker &thief, const StealTarget &target);

} // namespace omp_ext
