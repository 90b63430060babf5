// SPDX-License-Identifier: Apache-2.0
// Hardware and software counters through PAPI, which is loaded only when OMPASS_COUNTERS names any.
// Read at task switches and kernel boundaries, which takes some 8 us for three in a virtual machine (docs/cost.md); to whom
// that is charged is the accounting's matter.
#pragma once

#include <string>
#include <vector>

#include "format/format.h"

namespace ompass::counters {

inline constexpr int kNone = -1;

// Loads PAPI, tries the names, and finds out how to read them; one line on stderr for each name that it refuses, with
// what is available here or what it does not go together with.
// Returns the names that will be counted.
std::vector<std::string> open(const std::vector<std::string> &names);

// Starts counting for the calling thread, and reads into `values`. Returns its set of counters, kNone when there is none.
int start(uint64_t *values);

// Reads the counters of a thread's set into values[kMaxCounters]; called by that thread. False, with zeros, where PAPI
// fails.
bool read(int set, uint64_t *values);

// The same, and into rises[kMaxCounters] by how much each rose since `values` was read last. Returns how many are counted:
// 0, and `values` stays, where PAPI fails.
unsigned advance(int set, uint64_t *values, uint64_t *rises);

} // namespace ompass::counters
