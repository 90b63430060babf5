// SPDX-License-Identifier: Apache-2.0
// The account of a run recomputed from its events alone, by the rules of the tool, independently written:
// to check the account that the tool kept, and to survive its loss. What the events mean is events/walker.h's.
#pragma once

#include "format/run_profile.h"

namespace ompass {

// A part of the run, in nanoseconds since its start. Times are cut off at it, to the tick; events count in it, and so
// tasks, waits and kernels count where they end.
struct ReplayWindow {
    uint64_t start_ns = 0, end_ns = ~uint64_t{0};
};

// Fills one account per thread of the run. A problem names file and byte; a run without events is one.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayWindow window = {});

} // namespace ompass
