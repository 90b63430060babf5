// SPDX-License-Identifier: Apache-2.0
// The pyramid of a recording, for tests that include headers of the tool: the walker has some of their names, too.
#pragma once

#include <string>
#include <vector>

#include "analyses/trace_replay.h"

namespace ompass {

// The pyramid holds the time of the replay, to a nanosecond for each stretch; its matrix every deferred task.
void check_pyramid(const std::string &directory, const std::vector<ThreadAccount> &replayed);

// Opens it, whatever is in the directory.
void open_pyramid(const std::string &directory);

} // namespace ompass
