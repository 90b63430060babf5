// SPDX-License-Identifier: Apache-2.0
// Reads the processor limits of this process's control groups, and how often and how long the groups were stopped.
// Reads versions 1 and 2, at every level from the process's group up to the mount. Opens a few small files, so events
// must not call these functions. The tool writes the limits to process.log; `ompass doctor` shows them.
#pragma once

#include <string>
#include <vector>

#include "format.h"

namespace ompass::format {

// The folders of this process's group and of the groups above it in each hierarchy, the innermost first.
struct GroupFolders {
    std::vector<std::string> unified; // version 2
    std::vector<std::string> cpu, cpuset; // the controllers of version 1
};

// Returns the folders; empty lists if files cannot be read. Tests pass `root`, a prefix of every path.
GroupFolders find_group_folders(const std::string &root = "");

// Returns the limits; is_known is 0 if no cpu.stat file can be read.
GroupLimits read_group_limits(const GroupFolders &folders);

} // namespace ompass::format
