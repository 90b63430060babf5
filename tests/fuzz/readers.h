// SPDX-License-Identifier: Apache-2.0
// Everything that reads the logs of a run.
#pragma once

#include <string>

namespace ompass::fuzz {

// Runs every analysis on a run directory. Each returns a result or a problem; both are ignored.
void read_everything(const std::string &directory);

} // namespace ompass::fuzz
