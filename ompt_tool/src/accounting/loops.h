// SPDX-License-Identifier: Apache-2.0
// The effects of loops, and other constructs that share work, on a thread. They end no state interval; their time is
// counted in addition to the states.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// `n_iterations`: of all threads. `address`: return address of the call; null if the runtime does not report it.
void begin_work(ThreadState &thread, uint32_t work, uint64_t n_iterations, const void *address);
void end_work(ThreadState &thread, uint32_t work);

// Counts a chunk of the current task's loop.
inline void take_chunk(ThreadState &thread, uint64_t n_iterations) {
    if (thread.works.depth == 0) return;
    Works::Open &work = thread.works.open[thread.works.depth - 1];
    if (work.task != thread.current) return;
    work.n_chunks++;
    work.n_taken += n_iterations;
}

// Ends the current task's loops at a barrier or its end, if the runtime reported no end (gcc's single).
void end_unreported_works(ThreadState &thread, uint64_t now);

} // namespace ompass
