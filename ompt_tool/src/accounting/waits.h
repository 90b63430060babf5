// SPDX-License-Identifier: Apache-2.0
// The effects of waits and locks on a thread. Each wait counts for its place in the source. A long wait also counts for
// its cause: at a lock, the construct that held the lock before; at a barrier, the loop or region that the last thread
// came from; in a wait for tasks, the construct of the task that ended last on another thread.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// Begin and end a wait. `address`: return address of the call; null if the runtime does not report it.
void begin_wait(ThreadState &thread, uint32_t kind, const void *address);
void end_wait(ThreadState &thread, uint32_t kind);
// Ends a wait for tasks at the time of the last event, which completed the last task.
void end_wait_at_once(ThreadState &thread, uint32_t kind);
// Begin and end a wait of an untimed task for tasks in the thread's own queue.
void begin_untimed_wait(ThreadState &thread, uint32_t kind);
void end_untimed_wait(ThreadState &thread);
// Opens a gap, because the tasks from the thread's own queue are complete and the wait continues.
void begin_gap(ThreadState &thread);
// Records the place of a wait in a team of one thread, which has run all tasks already. A larger team might wait there.
void name_wait(ThreadState &thread, uint32_t kind, const void *address);
void begin_lock(ThreadState &thread, uint32_t kind, const void *address, uint64_t now);
// `lock`: identity of the lock; 0: not known.
void end_lock(ThreadState &thread, uint32_t kind, uint64_t lock, uint64_t now);
// Continues the wait for a lock that end_lock() ended with the last event. `begin`: start of the wait. If the trace's
// last record cannot be extended, starts a new wait at the last event and sets `begin` to that time.
void extend_lock(ThreadState &thread, uint32_t kind, format::WaitSlot &wait, uint64_t &begin, uint64_t now);
// Records that the thread releases the lock. The state interval continues.
void release_lock(ThreadState &thread, uint32_t kind, uint64_t lock);

// Counts the last gap of a wait by its cause, the construct `waited_for`. `loop`: the loop before the barrier, or null.
void count_last_gap(format::WaitSlot &wait, format::LoopSlot *loop, LastGap gap, uint32_t waited_for);
// Returns the construct that threads waited for at the region's `n_barriers`th barrier; 0: not known yet.
uint32_t waited_for(const format::RegionInstance &instance, uint32_t n_barriers);
// Returns the result of waited_for(), and fixes it for all threads. Called at the region's end.
uint32_t settle_waited_for(format::RegionInstance &instance, uint32_t n_barriers);

} // namespace ompass
