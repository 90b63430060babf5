// SPDX-License-Identifier: Apache-2.0
// What waits and locks do to a thread; as tasks.h does for tasks. Each is charged to its place in the source,
// and, when it was long, to what it waited for: a lock for the construct that held it before, a barrier for the loop or
// region from which the last thread came, and a wait for tasks for the construct of the one that ended last elsewhere.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// `address`: of the call; null where the runtime does not tell.
void begin_wait(ThreadState &thread, uint32_t kind, const void *address);
void end_wait(ThreadState &thread, uint32_t kind);
// The same of a wait for tasks, the last of which has just ended.
void end_wait_at_once(ThreadState &thread, uint32_t kind);
// The same in an untimed task, of a wait in which the thread has what it waits for at hand.
void begin_untimed_wait(ThreadState &thread, uint32_t kind);
void end_untimed_wait(ThreadState &thread);
// What the thread had at hand is done, and the wait goes on.
void begin_gap(ThreadState &thread);
// A team of one ran all tasks at once, so nothing is left to wait for: a trace tells the place alone, since with more threads
// there would be a wait.
void name_wait(ThreadState &thread, uint32_t kind, const void *address);
void begin_lock(ThreadState &thread, uint32_t kind, const void *address);
void end_lock(ThreadState &thread, uint32_t kind, uint64_t lock);

// A gap ended with its wait: counts what it waited for, and is that of the loop behind which the barrier stands (or null).
void count_last_gap(format::WaitSlot &wait, format::LoopSlot *loop, LastGap gap, uint32_t waited_for);
// For which construct the barrier that is the region's `n_barriers`th waited, as far as is known now; else 0.
uint32_t waited_for(const format::RegionInstance &instance, uint32_t n_barriers);
// The same where the region ends: the answer is for all members.
uint32_t settle_waited_for(format::RegionInstance &instance, uint32_t n_barriers);

} // namespace ompass
