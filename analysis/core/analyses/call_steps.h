// SPDX-License-Identifier: Apache-2.0
// Describes the records of MPI calls and target constructs in words, for lists of events.
#pragma once

#include <cstdint>
#include <string>

namespace ompass {

// Returns the meaning of word 1 of a kCall record, such as "sends to rank 1, tag 2".
std::string call_step_text(uint64_t word);

} // namespace ompass
