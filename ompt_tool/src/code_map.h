// SPDX-License-Identifier: Apache-2.0
// Which addresses are code, and of which module. Any thread asks, without a lock; a module is entered once, and left out
// when it has been unloaded.
#pragma once

#include <cstdint>

namespace ompass::code_map {

// Takes in all modules that are loaded. When recording begins, and after a fork.
void read();

// Returns an address in code as samples.h writes it, 0 for any other. `was_executed`: it is code for certain, so that a module
// which the program has loaded meanwhile is looked for. `time`: when it was code, in ticks; 0 is returned where the library
// that is there now may not have been there then.
uint64_t word_of(uint64_t address, bool was_executed, uint64_t time);

} // namespace ompass::code_map
