// SPDX-License-Identifier: Apache-2.0
// Table of the code addresses of loaded modules. Any thread may read it, without a lock.
#pragma once

#include <cstdint>

namespace ompass::code_map {

// Enters all loaded modules. Called when recording begins, and after a fork.
void read();

// Returns a code address in the form of format/samples.h. Returns 0 if the address is in no module of the table, if
// another library may have been there at `time` (ticks), or while another thread changes the table. `was_executed`: the
// address certainly is code, so if the table lacks it, the function enters the loaded module that contains it.
uint64_t word_of(uint64_t address, bool was_executed, uint64_t time);

} // namespace ompass::code_map
