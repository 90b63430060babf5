// SPDX-License-Identifier: Apache-2.0
// The end of a barrier: all workers have arrived and no task is left. A template over its counts, so a test can
// try all interleavings of its steps.
//
// Each worker counts a task as created before others see it, and as completed after its children's creation.
// Claim: if all workers have arrived, and the sum of n_done equals the sum of n_created, read later, then no task is
// left and none will come. Proof: a thread that sees a completion sees the creation of the task and of its children. So
// the completed tasks seen are among the created tasks seen; equal sums mean equal sets, which contain all their
// children. A task that was not seen would have a first unseen ancestor. The creator of this ancestor was seen
// complete, or is an implicit task that arrived. So the ancestor's creation was seen: a contradiction.
#pragma once

#include <cstdint>

namespace omp_ext {

// Counts: n_workers(), n_arrived(), n_done(i), n_created(i) of worker i, n_done_by_events(); each an acquiring load.
// `n_arrivals`: the value of n_arrived() once all have arrived.
template <typename Counts>
bool barrier_may_end(const Counts &counts, uint64_t n_arrivals) {
    if (counts.n_arrived() < n_arrivals) return false;
    uint64_t n_done = counts.n_done_by_events();
    for (int i = 0; i < counts.n_workers(); i++) n_done += counts.n_done(i);
    uint64_t n_created = 0;
    for (int i = 0; i < counts.n_workers(); i++) n_created += counts.n_created(i);
    return n_done == n_created;
}

} // namespace omp_ext
