// SPDX-License-Identifier: Apache-2.0
// Checks a run directory: its files, its sums, and whether the statistics of the tool and of the replay agree.
#pragma once

#include <string>
#include <vector>

namespace ompass {

// Returns a sentence for each inconsistency. A run that was cut short may still be consistent.
std::vector<std::string> validate_run(const std::string &directory);

} // namespace ompass
