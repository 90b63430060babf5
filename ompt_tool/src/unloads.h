// SPDX-License-Identifier: Apache-2.0
// Follows the libraries that the program unloads: another one may be mapped at the same addresses afterwards.
// Knowledge that is kept by an address of code is found through a thread's tables, which the thread clears when run_switch has
// changed, or checked against the loader's count of unloaded libraries (process_log, code_map).
#pragma once

#include <cstdint>

namespace ompass::unloads {

// Returns how many libraries have been unloaded so far. If that has changed since the last call, every thread notices it
// with its next event.
uint64_t look();

// Does the same where calls of dlclose do not come to this library (dlclose.cpp), because it is neither preloaded nor
// linked. At the begin of a region.
void look_if_untold();

// Returns when unloaded libraries were noticed last, in ticks; 0: there were none.
uint64_t latest();

// Around an unload by the calling thread. The library's destructors may still use OpenMP; and as soon as it is gone,
// another thread may load a library at its place. So meanwhile no thread keeps what it finds at an address.
void begin_one();
void end_one();

// Begins to follow, when recording begins.
void start();

// In the child of a fork: what run_switch has of unloads under way, of which the calling thread's alone go on.
uint32_t under_way_here();

} // namespace ompass::unloads
