// SPDX-License-Identifier: Apache-2.0
// Recomputes the statistics of a run from its events alone. It implements the tool's rules a second time, to check the
// tool's statistics and to replace lost ones. walker.h defines the meaning of events.
#pragma once

#include "format/run_profile.h"

namespace ompass {

// A window in nanoseconds since the start of the run. Times are cut to it. A task, a kernel or a wait for a lock counts
// if it ends in the window; another wait or a call, if it begins in it; a region, if it overlaps it.
struct ReplayWindow {
    uint64_t start_ns = 0, end_ns = ~uint64_t{0};
};

// Fills the statistics of each thread. A problem names file and byte; a run without events is a problem.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayWindow window = {});

} // namespace ompass
