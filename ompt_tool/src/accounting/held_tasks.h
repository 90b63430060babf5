// SPDX-License-Identifier: Apache-2.0
// Tasks that libomp_ext.so holds until they run (held_tasks.cpp).
#pragma once

#include "accounting/thread_state.h"

namespace ompass::held_tasks {

// Asks the extension, if it is in the process and schedules the tasks of the runtime with this address, to report them.
// True when it schedules the program.
bool observe(const void *runtime);

// To be called before anything that the current task does is recorded of which the extension does not tell.
extern void (*report_counted)();
inline void report_current(const ThreadState &thread) {
    if (__builtin_expect(thread.current->flags & kUntimed, 0)) report_counted();
}

// What the extension announced does not come about in the record.
void forget_announcement();

} // namespace ompass::held_tasks
