// SPDX-License-Identifier: Apache-2.0
// The state of the wrappers in creation_wrappers.cpp.
#pragma once

#include <cstdint>

namespace ompass::wrappers {

extern bool active;

// The runtime's code; empty if the wrappers are not active, or if the runtime is linked into the program.
struct Code {
    uintptr_t begin, end;
    bool holds(const void *address) const { return reinterpret_cast<uintptr_t>(address) - begin < end - begin; }
};
extern Code runtime_code;

// Lets the wrappers forward creations in regions to the extension, which reports them. They forward by tail calls, so
// the extension sees the program's return address. No effect in builds that do not guarantee tail calls.
void forward_in_regions();

// Sets `active` if `is_enabled` and the program's calls reach the wrappers. Called when the runtime starts.
void activate(bool is_enabled);

} // namespace ompass::wrappers
