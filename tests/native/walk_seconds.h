// SPDX-License-Identifier: Apache-2.0
// Measures walks. The core's walker and the tool's accounting have types of the same names, so no file includes both.
#pragma once

#include <cstdint>
#include <string>

namespace ompass {

// Walks through the events of one thread three times. Returns the CPU time of the fastest walk, in seconds.
double seconds_of_walk(const std::string &directory, uint32_t thread);

} // namespace ompass
