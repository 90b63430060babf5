// SPDX-License-Identifier: Apache-2.0
// What parallel regions do to a thread; as tasks.h does for tasks.
#pragma once

#include "accounting/tasks.h"

namespace ompass {

// The primary thread calls these. `is_runtimes`: the runtime begins the region for itself, so its members are helpers.
void begin_region(ThreadState &thread, const void *address, void **parallel_data, bool is_runtimes = false);
void end_region(ThreadState &thread);

// Of every member; `instance` null for an initial task.
TaskState *begin_implicit(ThreadState &thread, format::RegionInstance *instance, uint32_t team_size);
void end_implicit(ThreadState &thread, TaskState *task);

// Closes the account of a worker in regions that have ended meanwhile.
void close_ended_regions(ThreadState &thread);

} // namespace ompass
