// SPDX-License-Identifier: Apache-2.0
// The account of a run recomputed from its events alone, to check the one that the tool kept and to survive its loss.
#pragma once

#include "run_profile.h"

namespace ompass {

// Fills one account per thread of the run. A problem names file and byte; a run without events is one.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts);

} // namespace ompass
