// SPDX-License-Identifier: Apache-2.0
// Whether the process is recorded, and whether libraries were unloaded: one word that every event reads. A thread that
// finds another value than before acts on it (recorder::sync_switch), so that no event pays for a second question.
//   bits 0 to 1     a Switch
//   bits 2 to 11    unloads under way (unloads.cpp); while there are any, no thread keeps what it knows of code addresses
//   bits 12 to 31   rises with each unload; overflows without harm
#pragma once

#include <atomic>
#include <cstdint>

namespace ompass::recorder {

enum Switch : uint32_t { kOff = 0, kOn = 1, kPaused = 2 };
inline constexpr uint32_t kNever = 3; // no value of run_switch

inline constexpr uint32_t kSwitchMask = 3, kOneUnderWay = 1u << 2, kOneUnload = 1u << 12;

constexpr uint32_t switch_of(uint32_t value) { return value & kSwitchMask; }
constexpr uint32_t unloads_of(uint32_t value) { return value & ~kSwitchMask; }
constexpr bool is_unload_under_way(uint32_t value) { return (value & (kOneUnload - 1) & ~kSwitchMask) != 0; }

// Written by recorder.cpp and unloads.cpp.
extern std::atomic<uint32_t> run_switch;

inline uint32_t current_switch() { return run_switch.load(std::memory_order_relaxed); }
inline bool is_off() { return switch_of(current_switch()) == kOff; }

} // namespace ompass::recorder
