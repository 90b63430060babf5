// SPDX-License-Identifier: Apache-2.0
// Tasks that libomp_ext.so holds until they run.
#pragma once

#include "accounting/thread_state.h"

namespace ompass::held_tasks {

// Asks the extension to report its tasks. Returns false if the extension is not in the process, does not schedule the
// runtime at this address, or refuses.
bool observe(const void *runtime);

// Asks the extension to report the current task if it has only counted that task so far. Called before an event of the
// task that OMPT, a wrapper or a mark reports.
extern void (*report_counted)();
inline void report_current(const ThreadState &thread) {
    if (__builtin_expect(thread.current->flags & kUntimed, 0)) report_counted();
}

// Returns the return address of the program's call that last began a region on this thread. The extension records that
// address; null: it has recorded none.
extern const void *(*region_call)();

// Discards the extension's announcement of the next event.
void forget_announcement();

} // namespace ompass::held_tasks
