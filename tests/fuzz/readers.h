// SPDX-License-Identifier: Apache-2.0
// Everything that reads the logs of a run.
#pragma once

#include <cstddef>
#include <string>

namespace ompass::fuzz {

size_t n_readers();

// Opens a run directory and analyses it by one reader. Ignores the result, and a problem.
void read_by(size_t reader, const std::string &directory);

} // namespace ompass::fuzz
