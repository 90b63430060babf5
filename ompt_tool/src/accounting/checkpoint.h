// SPDX-License-Identifier: Apache-2.0
// Writes a thread's state into its trace, for runs that keep only the last part of the trace (format/checkpoint.h).
#pragma once

#include "accounting/thread_state.h"

namespace ompass {

// Begins a new window with a checkpoint. Called between two events of the thread, when its log takes a checkpoint. Asks
// for one before the next event if the state cannot be described now.
void write_checkpoint(ThreadState &thread);

} // namespace ompass
