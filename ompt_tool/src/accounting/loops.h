// SPDX-License-Identifier: Apache-2.0
// The effects of loops, and other constructs that share work, on a thread. These constructs end no state interval.
// Their time is counted in addition to the states.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// Begin and end a loop. `work`: its kind (ompt_work_t). `n_iterations`: sum over all threads. `address`: return
// address; null: not reported.
void begin_loop(ThreadState &thread, uint32_t work, uint64_t n_iterations, const void *address);
void end_loop(ThreadState &thread, uint32_t work);

// Counts a chunk of the current task's loop.
inline void take_chunk(ThreadState &thread, uint64_t n_iterations) {
    if (thread.loops.depth == 0) return;
    OpenLoops::Open &open = thread.loops.open[thread.loops.depth - 1];
    if (open.task != thread.current) return;
    open.n_chunks++;
    open.n_taken += n_iterations;
}

// Ends the current task's loops, at a barrier or the task's end, if the runtime reported no end (gcc's single).
void end_unreported_loops(ThreadState &thread, uint64_t now);

} // namespace ompass
