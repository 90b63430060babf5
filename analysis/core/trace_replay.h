// SPDX-License-Identifier: Apache-2.0
// The account of a run recomputed from its events alone, to check the one that the tool kept and to survive its loss.
#pragma once

#include "run_profile.h"

namespace ompass {

// Told of what happens as the replay goes through one thread after the other, each in the order of time. All times in
// ticks. Stretches of a thread do not overlap; `task` is 0 and `construct` the region's, or 0 outside, in implicit tasks.
class ReplayObserver {
public:
    virtual ~ReplayObserver() = default;
    virtual void stretch(uint32_t thread, format::State state, uint64_t begin, uint64_t end, uint64_t task,
                         uint32_t construct) = 0;
    // A deferred task starts. `ready`: when it was created, or its last predecessor ended.
    virtual void task(uint32_t thread, uint64_t task, uint32_t construct, uint64_t ready, uint64_t start) = 0;
    virtual void kernel(uint32_t thread, uint32_t construct, uint64_t begin, uint64_t end) = 0;
};

// Fills one account per thread of the run. A problem names file and byte; a run without events is one.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayObserver *observer = nullptr);

} // namespace ompass
