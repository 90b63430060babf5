// SPDX-License-Identifier: Apache-2.0
// Checks the pyramid of a recording. Tests that include the tool's headers call these functions, because the tool and
// the pyramid's walker have types of the same names.
#pragma once

#include <string>
#include <vector>

#include "analyses/trace_replay.h"

namespace ompass {

// Checks that the pyramid contains the replayed time, to a nanosecond per interval, and all deferred tasks.
void check_pyramid(const std::string &directory, const std::vector<ThreadAccount> &replayed);

// Opens the pyramid of a directory, which may contain damaged files, and ignores errors.
void open_pyramid(const std::string &directory);

} // namespace ompass
