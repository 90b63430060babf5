// SPDX-License-Identifier: Apache-2.0
// Dumps of a run that keeps only the last part of its trace. A dump is a run directory of its own, with the trace and
// the statistics up to the moment of the dump; the program continues. A signal, omp_control_tool or a long region
// requests a dump.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "options.h"

namespace ompass::dumps {

// Sets the conditions that request dumps. Called when recording begins.
void begin(const Options::Dump &when);

// Requests a dump. The next event of any thread makes it. Safe in signal handlers.
void request();

extern std::atomic<bool> requested;
inline bool take_request() {
    return __builtin_expect(requested.load(std::memory_order_relaxed), 0) && requested.exchange(false);
}

extern uint64_t longest_ticks; // a region longer than this requests a dump
inline void request_if_longer(uint64_t region_ticks) {
    if (__builtin_expect(region_ticks > longest_ticks, 0)) request();
}

// Makes a dump of the run in `directory`, next to that directory. `now`: the last moment of the dump. One thread at a
// time may call it.
void make(const std::string &directory, uint64_t now);

} // namespace ompass::dumps
