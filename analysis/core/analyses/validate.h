// SPDX-License-Identifier: Apache-2.0
// Checks that a run's files are intact, that its times add up, and that the tool's statistics agree with the replay's.
#pragma once

#include <string>
#include <vector>

namespace ompass {

// Returns a sentence for each inconsistency. A run that was cut short may still be consistent.
std::vector<std::string> validate_run(const std::string &directory);

} // namespace ompass
