// SPDX-License-Identifier: Apache-2.0
// Detects that the program unloads libraries, after which other code may be mapped at the same addresses. Threads then
// clear their tables of code addresses (run_switch); process_log and code_map compare the loader's count of unloads.
#pragma once

#include <cstdint>

namespace ompass::unloads {

// Returns the number of libraries unloaded so far. If the number has changed, every thread notices at its next event.
uint64_t check();

// Calls check() if the program's calls of dlclose do not reach ours (dlclose.cpp), because this library is neither
// preloaded nor linked. Called at the begin of a region. Skips the check shortly after the thread's last one.
void check_unless_notified();

// Returns the time at which unloaded libraries were last noticed, in ticks; 0: never.
uint64_t latest();

// Called around an unload by the calling thread. In between, no thread caches anything by code address: the library's
// destructors may use OpenMP, and another thread may load a library at the same addresses.
void begin_unload();
void end_unload();

// Called when recording begins.
void start();

// Returns the bits of run_switch for the calling thread's unloads under way. Called in the child of a fork, which has
// no other threads.
uint32_t under_way_here();

} // namespace ompass::unloads
