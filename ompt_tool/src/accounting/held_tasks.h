// SPDX-License-Identifier: Apache-2.0
// Tasks that libomp_ext.so holds until they run.
#pragma once

#include "accounting/thread_state.h"

namespace ompass::held_tasks {

// Asks the extension to report its tasks, if it is in the process and schedules the runtime with this address. Returns
// true if the extension reports its tasks.
bool observe(const void *runtime);

// Asks the extension to report the current task if it has only counted that task so far. Called before events
// of the task that come from OMPT, a wrapper or a mark.
extern void (*report_counted)();
inline void report_current(const ThreadState &thread) {
    if (__builtin_expect(thread.current->flags & kUntimed, 0)) report_counted();
}

// Returns the return address of the program's call that began a region last on this thread, as the extension noted it;
// null: it notes none.
extern const void *(*region_call)();

// Discards the extension's announcement of the next event.
void forget_announcement();

} // namespace ompass::held_tasks
