// SPDX-License-Identifier: Apache-2.0
// MPI calls and target constructs. Each of the two has its own state. A call inside another belongs to the outer one.
// If a call runs OpenMP code (an operation of a reduction, an error handler), the state ends at the first event of that
// code.
#pragma once

#include "accounting/state_intervals.h"

namespace ompass {

// True if the thread is in an MPI call or target construct. `frame`: the stack pointer of the asking function's caller.
// If it shows that an exception or longjmp has left the call, ends the call and returns false.
bool is_in_library_call(ThreadState &thread, const void *frame);

// Begins a call. `slot`: statistics of its construct.
void begin_library_call(ThreadState &thread, format::CallSlot &slot, State state, const void *frame);
// Writes the begin of an MPI call into the trace. Called after begin_library_call(), before any other record is
// written. `enter_word`, `leave_word`: word 1 of the records of the call's begin and end.
void trace_begin_of_call(ThreadState &thread, uint64_t enter_word, uint64_t leave_word);
void end_library_call(ThreadState &thread);

} // namespace ompass
