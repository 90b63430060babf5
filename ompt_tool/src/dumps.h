// SPDX-License-Identifier: Apache-2.0
// Dumps of a run that keeps only the last part of its trace: run directories of their own, which hold the trace and the
// statistics up to a moment, while the program goes on. Asked for by a signal, by omp_control_tool or by a long region.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "options.h"

namespace ompass::dumps {

// Sets what asks for dumps, when recording begins.
void begin(const Options::Dump &when);

// Asks for a dump, which the next event of any thread makes. Safe in signal handlers.
void request();

extern std::atomic<bool> requested;
inline bool take_request() {
    return __builtin_expect(requested.load(std::memory_order_relaxed), 0) && requested.exchange(false);
}

extern uint64_t longest_ticks; // longest region that asks for no dump
inline void consider(uint64_t region_ticks) {
    if (__builtin_expect(region_ticks > longest_ticks, 0)) request();
}

// Makes a dump of the run in `directory`, next to it. `now`: the last moment of the dump. Callers serialize.
void make(const std::string &directory, uint64_t now);

} // namespace ompass::dumps
