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
// Writes the begin of an MPI call into the trace, after begin_library_call() and before any other record, with word 1 of
// the records of its begin and its end.
void trace_begin_of_call(ThreadState &thread, uint64_t enter_word, uint64_t leave_word);
void end_library_call(ThreadState &thread);

} // namespace ompass
