// SPDX-License-Identifier: Apache-2.0
// Recomputes the statistics of a run from its events alone. Implements the tool's rules a second time, to check the
// tool's statistics and to replace lost ones. walker.h defines the meaning of events.
#pragma once

#include "format/run_profile.h"

namespace ompass {

// A window in nanoseconds since the start of the run. The replay cuts times to the window. It counts tasks, kernels and
// waits for locks that end in the window, other waits and calls that begin there, and regions that overlap the window.
struct ReplayWindow {
    uint64_t start_ns = 0, end_ns = ~uint64_t{0};
};

// Fills the statistics of each thread. A problem names file and byte; a run without events is a problem.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayWindow window = {});

} // namespace ompass
