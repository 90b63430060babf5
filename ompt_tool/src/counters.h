// SPDX-License-Identifier: Apache-2.0
// Reads hardware and software counters through PAPI, which is loaded only if OMPASS_COUNTERS names any. The accounting
// reads them at task switches and kernel boundaries (docs/cost.md), and attributes the counts.
#pragma once

#include <string>
#include <vector>

#include "format/format.h"

namespace ompass::counters {

inline constexpr int kNone = -1;

// Loads PAPI and tries the names. Prints one line for each refused name, with the reason and the available names.
// Returns the names that will be counted.
std::vector<std::string> open(const std::vector<std::string> &names);

// Starts the counters of the calling thread, and reads them into `values`. Returns its set of counters; kNone: none.
int start(uint64_t *values);

// Reads the calling thread's set of counters into values[kMaxCounters]. Returns false if PAPI fails.
bool read(int set, uint64_t *values);

// Reads the counters, and writes their increases since the last reading to rises[kMaxCounters]. Returns the number of
// counters; if PAPI fails, returns 0 and leaves `values` unchanged.
unsigned advance(int set, uint64_t *values, uint64_t *rises);

} // namespace ompass::counters
