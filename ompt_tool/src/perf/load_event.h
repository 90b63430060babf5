// SPDX-License-Identifier: Apache-2.0
// Finds the event with which this machine's processor samples loads, among the events that the kernel describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ompass {

// Arguments of perf_event_open(2).
struct LoadEvent {
    uint32_t type = 0;
    uint64_t config = 0, config1 = 0, config2 = 0;
    uint8_t precise_ip = 0;
    bool exclude_kernel = true; // false: the reader must drop the kernel's samples
    uint32_t period_unit = 1; // the period must be a multiple of this
};

inline constexpr char kEventSources[] = "/sys/bus/event_source/devices";

// Returns Intel's load latency (mem-loads) or AMD's instruction-based sampling (ibs_op), which samples all operations,
// loads included. Returns nullopt if the processor has neither, or the kernel does not describe it. `devices`:
// kEventSources, except in tests.
std::optional<LoadEvent> find_load_event(const std::string &devices);

} // namespace ompass
