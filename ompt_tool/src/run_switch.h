// SPDX-License-Identifier: Apache-2.0
// Whether the process is recorded: the values of recorder::run_switch.
#pragma once

#include <cstdint>

namespace ompass::recorder {

enum Switch : uint32_t { kOff = 0, kOn = 1, kPaused = 2 };
inline constexpr uint32_t kNever = 3; // none of them

} // namespace ompass::recorder
