// SPDX-License-Identifier: Apache-2.0
// The effects of parallel regions on a thread.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// Begin and end a region. Called by the primary thread. `n_requested`: number of threads that the program asked for;
// 0: unknown. `is_internal`: true if the runtime begins the region for its own helper threads. begin_region() returns
// the region; null if it cannot be recorded.
format::RegionInstance *begin_region(ThreadState &thread, const void *address, uint32_t n_requested = 0,
                                     bool is_internal = false);
void end_region(ThreadState &thread);

// Begins an implicit or initial task. Called by every thread of the team. `instance` is null for an initial task
// outside of leagues. Returns null if the thread cannot begin the task now, or if memory is exhausted.
TaskState *begin_implicit(ThreadState &thread, format::RegionInstance *instance, uint32_t team_size);
// Ends an implicit task of this thread. First ends the inner implicit tasks whose ends the runtime did not report.
void end_implicit(ThreadState &thread, TaskState *task);

// Closes a worker's parts of regions that have ended.
void close_ended_regions(ThreadState &thread);

} // namespace ompass
