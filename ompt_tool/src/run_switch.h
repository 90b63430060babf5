// SPDX-License-Identifier: Apache-2.0
// One word that every event reads: the state of recording, and a count of the moments at which threads must act. A
// thread that finds the word changed calls recorder::notice, so events need only this one check.
//   bits 0 to 1     a Switch
//   bits 2 to 11    number of unloads under way (unloads.cpp); unless it is 0, threads cache nothing by code address
//   bits 12 to 31   incremented by each unload and each request for a dump; may overflow
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

// Written by recorder.cpp, unloads.cpp and dumps.cpp.
extern std::atomic<uint32_t> run_switch;

inline uint32_t current_switch() { return run_switch.load(std::memory_order_relaxed); }
inline bool is_off() { return switch_of(current_switch()) == kOff; }

} // namespace ompass::recorder
