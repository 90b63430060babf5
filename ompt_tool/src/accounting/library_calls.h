// SPDX-License-Identifier: Apache-2.0
// MPI calls and target constructs, each a state of its own. Calls inside a call belong to it. If a call runs OpenMP
// code (an operation of a reduction, an error handler), the state ends at the first event of that code.
#pragma once

#include "accounting/state_intervals.h"

namespace ompass {

// Returns true if the thread is in such a call, as seen from a function whose caller's stack pointer is `frame`. Ends a
// call that an exception or longjmp has left.
bool is_in_library_call(ThreadState &thread, const void *frame);

// Begins a call. `slot`: its statistics.
void begin_library_call(ThreadState &thread, format::CallSlot &slot, State state, const void *frame);
void end_library_call(ThreadState &thread);

} // namespace ompass
