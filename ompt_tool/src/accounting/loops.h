// SPDX-License-Identifier: Apache-2.0
// The effects of loops and other worksharing constructs (and of taskloop and masked) on a thread. These constructs end
// no state interval. Their time is counted in addition to the states.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// Begin and end a loop. `work`: its kind (ompt_work_t). `n_iterations`: sum over all threads. `address`: return
// address of the call; null: not reported.
void begin_loop(ThreadState &thread, uint32_t work, uint64_t n_iterations, const void *address);
void end_loop(ThreadState &thread, uint32_t work);

// Counts a chunk of `n_iterations` that the current task takes in its loop.
inline void take_chunk(ThreadState &thread, uint64_t n_iterations) {
    if (thread.loops.depth == 0) return;
    OpenLoops::Open &open = thread.loops.open[thread.loops.depth - 1];
    if (open.task != thread.current) return;
    open.n_chunks++;
    open.n_taken += n_iterations;
}

// Ends those loops of the current task whose ends the runtime has not reported (gcc's single). Called at a barrier, at
// the end of an implicit task, and at the start of another construct that the team shares.
void end_unreported_loops(ThreadState &thread, uint64_t now);

} // namespace ompass
