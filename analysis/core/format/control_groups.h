// SPDX-License-Identifier: Apache-2.0
// Reads how much processor time the control groups of this process allow, and how often they held it back: versions 1
// and 2, every level from the group of the process up to the mount. Opens a few small files: not for the path of events.
// The tool notes it in process.log, `ompass doctor` shows it.
#pragma once

#include <string>

#include "format.h"

namespace ompass::format {

// Returns the limits; `is_known` is 0 where the files cannot be read. `root` is a folder in front of every path, for tests.
GroupLimits read_group_limits(const std::string &root = "");

} // namespace ompass::format
