// SPDX-License-Identifier: Apache-2.0
// Table of the code addresses of loaded modules. Any thread may read it, without a lock.
#pragma once

#include <cstdint>

namespace ompass::code_map {

// Enters all loaded modules. Called when recording begins, and after a fork.
void read();

// Returns a code address in the form of samples.h; 0: not code, or at `time` (ticks) another library may have been
// there. `was_executed`: the address certainly is code, so newly loaded modules are searched, too.
uint64_t word_of(uint64_t address, bool was_executed, uint64_t time);

} // namespace ompass::code_map
