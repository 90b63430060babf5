// SPDX-License-Identifier: Apache-2.0
// Checks the pyramid of a recording, for tests that include headers of the tool, which share names with the walker.
#pragma once

#include <string>
#include <vector>

#include "analyses/trace_replay.h"

namespace ompass {

// Checks that the pyramid contains the replayed time, to a nanosecond per interval, and all deferred tasks.
void check_pyramid(const std::string &directory, const std::vector<ThreadAccount> &replayed);

// Opens the pyramid; the directory may contain anything.
void open_pyramid(const std::string &directory);

} // namespace ompass
