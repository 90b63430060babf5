// SPDX-License-Identifier: Apache-2.0
// Recomputes the statistics of a run from its events alone. This second implementation of the tool's rules checks the
// statistics that the tool kept, and replaces them if they are lost. walker.h defines the meaning of events.
#pragma once

#include "format/run_profile.h"

namespace ompass {

// A window in nanoseconds since the start of the run. Times are cut to it; tasks, waits and kernels count if they end
// in it.
struct ReplayWindow {
    uint64_t start_ns = 0, end_ns = ~uint64_t{0};
};

// Fills the statistics of each thread. A problem names file and byte; a run without events is a problem.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayWindow window = {});

} // namespace ompass
