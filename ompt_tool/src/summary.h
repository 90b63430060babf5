// SPDX-License-Identifier: Apache-2.0
// The end-of-run summary on stderr: one screen, from the profile.
#pragma once

#include <string>

namespace ompass {

// Reads the profile of the run back from its directory and prints it. Says nothing when there is nothing to tell.
void print_summary(const std::string &directory);

} // namespace ompass
