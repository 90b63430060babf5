// SPDX-License-Identifier: Apache-2.0
// The end-of-run summary on stderr: one screen, from the profile.
#pragma once

#include <string>

namespace ompass {

// Reads the profile from the run directory and prints its summary; prints nothing if nothing was recorded.
void print_summary(const std::string &directory);

} // namespace ompass
