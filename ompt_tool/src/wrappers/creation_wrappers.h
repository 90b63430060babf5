// SPDX-License-Identifier: Apache-2.0
// Whether the runtime wrappers (creation_wrappers.cpp) are in effect.
#pragma once

#include <cstdint>

namespace ompass::wrappers {

extern bool active;

// The runtime's code while wrappers are active, and empty otherwise or when the program holds it itself.
struct Code {
    uintptr_t begin, end;
    bool holds(const void *address) const { return reinterpret_cast<uintptr_t>(address) - begin < end - begin; }
};
extern Code runtime_code;

// From now on another library, behind this one, tells of creations in regions: they are passed on to it by a jump, so that
// it sees the address of the program. Where a build cannot promise that, nothing changes.
void stand_aside_in_regions();

// Decides, when the runtime has started: `wanted`, and this library's functions come before the runtime's.
void look_whether_in_front(bool wanted);

} // namespace ompass::wrappers
