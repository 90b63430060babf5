// SPDX-License-Identifier: Apache-2.0
// The effects of waits and locks on a thread. Each is charged to its place in the source. A long one is also charged to
// its cause: a lock to the construct that held it before, a barrier to the loop or region that the last thread came
// from, a wait for tasks to the construct of the task that ended last on another thread.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// `address`: return address of the call; null if the runtime does not report it.
void begin_wait(ThreadState &thread, uint32_t kind, const void *address);
void end_wait(ThreadState &thread, uint32_t kind);
// Ends a wait for tasks of which the last has just ended.
void end_wait_at_once(ThreadState &thread, uint32_t kind);
// Begin and end a wait in an untimed task, if the awaited tasks are in the thread's own queue.
void begin_untimed_wait(ThreadState &thread, uint32_t kind);
void end_untimed_wait(ThreadState &thread);
// Opens a gap: the tasks in the thread's own queue are complete, and the wait continues.
void begin_gap(ThreadState &thread);
// Records the place of a wait in a team of one, which ran all tasks at once: with more threads there would be a wait.
void name_wait(ThreadState &thread, uint32_t kind, const void *address);
void begin_lock(ThreadState &thread, uint32_t kind, const void *address);
void end_lock(ThreadState &thread, uint32_t kind, uint64_t lock);

// Counts a gap that ended with its wait, for its cause. `loop`: the loop before the barrier, or null.
void count_last_gap(format::WaitSlot &wait, format::LoopSlot *loop, LastGap gap, uint32_t waited_for);
// Returns the construct that the region's `n_barriers`th barrier waited for; 0: not known yet.
uint32_t waited_for(const format::RegionInstance &instance, uint32_t n_barriers);
// Returns it where the region ends, and fixes it for all threads.
uint32_t settle_waited_for(format::RegionInstance &instance, uint32_t n_barriers);

} // namespace ompass
