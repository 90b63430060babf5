// SPDX-License-Identifier: Apache-2.0
// Detects that the program has unloaded libraries, so the addresses of their code may now hold other code. Threads then
// clear their tables of code addresses (run_switch); process_log and code_map compare the loader's count of unloads.
#pragma once

#include <cstdint>

namespace ompass::unloads {

// Returns the number of libraries unloaded so far. If it has changed, notifies every thread, which reacts at its next
// event.
uint64_t check();

// Calls check() if the program's calls of dlclose do not reach ours (dlclose.cpp), because this library is neither
// preloaded nor linked. Called at the start of a region. Does nothing shortly after the thread's last check.
void check_unless_notified();

// Returns the time in ticks at which check() last found a change; 0: never.
uint64_t latest();

// Called before and after the calling thread unloads libraries. In between, no thread caches anything by code address,
// because the library's destructors may use OpenMP, and another thread may load a library at the same addresses.
void begin_unload();
void end_unload();

// Called when recording begins.
void start();

// Returns the bits of run_switch that count the calling thread's unloads under way. Called in the child of a fork,
// which has no other threads.
uint32_t under_way_here();

} // namespace ompass::unloads
