// SPDX-License-Identifier: Apache-2.0
// Checks that a run directory is sound: its files, its identities, and its two accounts against each other.
#pragma once

#include <string>
#include <vector>

namespace ompass {

// Every inconsistency found, one sentence each; empty when the run is sound. A run cut short is no inconsistency.
std::vector<std::string> validate_run(const std::string &directory);

} // namespace ompass
