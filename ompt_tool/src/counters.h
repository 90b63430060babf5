// SPDX-License-Identifier: Apache-2.0
// Hardware and software counters through PAPI, which is loaded only when OMPASS_COUNTERS names any.
// Read at task switches and kernel boundaries (about 1 us each); attributed like time.
#pragma once

#include <string>
#include <vector>

#include "format/format.h"

namespace ompass {
struct ThreadState;
}

namespace ompass::counters {

inline constexpr int kNone = -1;

// Loads PAPI and tries the names; one line on stderr for each that it refuses, with what is available here.
// Returns the names that will be counted.
std::vector<std::string> open(const std::vector<std::string> &names);

// Starts counting for the calling thread; thread.counter_set stays kNone when that fails.
void start(ThreadState &thread);

// Charges what was counted since the last reading to the current task's construct / to nothing.
void charge_current(ThreadState &thread);
void skip(ThreadState &thread);

// Reads into values[kMaxCounters].
void read(ThreadState &thread, uint64_t *values);

} // namespace ompass::counters
