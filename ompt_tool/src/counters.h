// SPDX-License-Identifier: Apache-2.0
// Hardware and software counters through PAPI, which is loaded only if OMPASS_COUNTERS names any. They are read at task
// switches and kernel boundaries (docs/cost.md). The accounting attributes them.
#pragma once

#include <string>
#include <vector>

#include "format/format.h"

namespace ompass::counters {

inline constexpr int kNone = -1;

// Loads PAPI and tries the names. Prints one line for each refused name, with the reason and the available names.
// Returns the names that will be counted.
std::vector<std::string> open(const std::vector<std::string> &names);

// Starts counting for the calling thread, and reads into `values`. Returns its set of counters; kNone: none.
int start(uint64_t *values);

// Reads the counters of the calling thread's set into values[kMaxCounters]. If PAPI fails, returns false and zeros.
bool read(int set, uint64_t *values);

// Reads the counters, and writes their increases since the last reading to rises[kMaxCounters]. Returns the number of
// counters; if PAPI fails, returns 0 and leaves `values` unchanged.
unsigned advance(int set, uint64_t *values, uint64_t *rises);

} // namespace ompass::counters
