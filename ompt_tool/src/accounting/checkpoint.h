// SPDX-License-Identifier: Apache-2.0
// Writes a thread's state into its trace, for runs that keep only the last part of the trace (format/checkpoint.h).
#pragma once

#include "accounting/thread_state.h"

namespace ompass {

// Begins a new window with a checkpoint. Called between two events of the thread, when its log wants a checkpoint. If
// a checkpoint cannot describe the present state, tries again before the next event.
void write_checkpoint(ThreadState &thread);

} // namespace ompass
