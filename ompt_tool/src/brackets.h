// SPDX-License-Identifier: Apache-2.0
// Whether the runtime brackets (brackets.cpp) are in effect.
#pragma once

namespace ompass::brackets {

extern bool active;

// Decides, when the runtime has started: `wanted`, and this library's functions come before the runtime's.
void look_whether_in_front(bool wanted);

} // namespace ompass::brackets
