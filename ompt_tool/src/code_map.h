// SPDX-License-Identifier: Apache-2.0
// Which addresses are code, and of which module. Any thread asks, without a lock; a module is entered once.
#pragma once

#include <cstdint>

namespace ompass::code_map {

// Takes in all modules that are loaded. When recording begins, and after a fork.
void read();

// An address in code as samples.h writes it, 0 for any other. `was_executed`: it is code for certain, so that a module
// which the program has loaded meanwhile is looked for.
uint64_t word_of(uint64_t address, bool was_executed);

} // namespace ompass::code_map
