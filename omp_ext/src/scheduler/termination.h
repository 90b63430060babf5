// SPDX-License-Identifier: Apache-2.0
// When a barrier may end: all workers have arrived and no task is left. A template over what it reads, so that a test
// can try all interleavings of its steps.
//
// Every worker counts the tasks it created (before anybody can see them) and completed (after they created what they
// create). Claim: when all have arrived, and the sum of n_done, read first, equals the sum of n_created, read after it,
// then no task is left and none will come. For whoever sees a completion sees the creations of that task and of its
// children, since each is published before the other. So the completed tasks that were seen are among the created ones
// that were seen; if they are equally many they are the same, and all their children are among them. A task that was
// not seen would have a first ancestor that was not; its creator was seen and complete, or an implicit task that
// arrived: either way its creation was seen after all.
#pragma once

#include <cstdint>

namespace omp_ext {

// Counts: n_workers(), n_arrived(), n_done(i), n_created(i) for workers i, n_done_by_others(); each an acquiring load.
// `n_arrivals`: n_arrived() once all have arrived.
template <typename Counts>
bool barrier_may_end(const Counts &counts, uint64_t n_arrivals) {
    if (counts.n_arrived() < n_arrivals) return false;
    uint64_t n_done = counts.n_done_by_others();
    for (int i = 0; i < counts.n_workers(); i++) n_done += counts.n_done(i);
    uint64_t n_created = 0;
    for (int i = 0; i < counts.n_workers(); i++) n_created += counts.n_created(i);
    return n_done == n_created;
}

} // namespace omp_ext
