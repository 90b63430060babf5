// SPDX-License-Identifier: Apache-2.0
// What loops, and other constructs that share work, do to a thread; as tasks.h does for tasks. They cut no
// state interval: the time in them is counted beside its states.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// `n_iterations` of all threads. `address`: of the call; null where the runtime does not tell.
void begin_work(ThreadState &thread, uint32_t work, uint64_t n_iterations, const void *address);
void end_work(ThreadState &thread, uint32_t work);

// A chunk of the loop that the current task is in begins.
inline void take_chunk(ThreadState &thread, uint64_t n_iterations) {
    if (thread.works.depth == 0) return;
    Works::Open &work = thread.works.open[thread.works.depth - 1];
    if (work.task != thread.current) return;
    work.n_chunks++;
    work.n_taken += n_iterations;
}

// The current task comes to a barrier, or ends: what it shares ends here, if the runtime told of no end (gcc's single).
void end_unreported_works(ThreadState &thread, uint64_t now);

} // namespace ompass
