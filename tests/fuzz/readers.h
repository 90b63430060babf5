// SPDX-License-Identifier: Apache-2.0
// Runs the readers of a run's logs.
#pragma once

#include <cstddef>
#include <string>

namespace ompass::fuzz {

size_t n_readers();

// Opens a run directory and analyses it with one reader. Ignores results and errors.
void read_by(size_t reader, const std::string &directory);

} // namespace ompass::fuzz
