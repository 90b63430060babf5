// SPDX-License-Identifier: Apache-2.0
// MPI calls (state mpi) and target constructs (state offload). A call inside another belongs to the outer one. If a
// call runs OpenMP code (an operation of a reduction, an error handler), its state ends at the code's first event. The
// frequent functions are inline, because programs may make millions of short MPI calls.
#pragma once

#include "accounting/held_tasks.h"
#include "accounting/state_intervals.h"

namespace ompass {

// Begins a call. `slot`: statistics of its construct. `frame`: the stack pointer of the caller. If this function sets
// the call's `is_traced`, trace_begin_of_call() must follow before any other record.
inline void begin_library_call(ThreadState &thread, format::CallSlot &slot, State state, const void *frame) {
    held_tasks::report_current(thread);
    const uint64_t now = clock::now();
    const bool is_accounted = thread.header->open_state == format::kOpenWork && !thread.current->creating;
    const bool in_task = thread.current->local != nullptr;
    if (__builtin_expect(is_accounted, 1)) {
        close_work(thread, now);
        open_interval(thread, format::kOpenCall);
        thread.header->open_wait = slot.id;
    }
    thread.previous.creator = nullptr;
    slot.n_calls++;
    slot.n_in_tasks += in_task;
    LibraryCall &call = thread.call;
    call.slot = &slot;
    call.state = state;
    call.is_accounted = is_accounted;
    call.in_task = in_task;
    call.is_serial = thread.region->instance == nullptr;
    call.is_traced = thread.tracing && slot.id && !thread.current->creating;
    call.is_unwatched = false;
    call.begin = now;
    call.frame = frame;
}

// Writes the start of the call into the trace. `enter_word`, `leave_word`: word 1 of the records of the call's start
// and end.
inline void trace_begin_of_call(ThreadState &thread, uint64_t enter_word, uint64_t leave_word) {
    thread.log.timed(format::kCall, thread.call.slot->id, thread.call.begin, enter_word);
    thread.call.leave_word = leave_word;
}

inline void end_library_call(ThreadState &thread) {
    const uint64_t now = clock::now();
    const LibraryCall &call = thread.call;
    if (const uint32_t open = thread.header->open_state; call.is_accounted && open != format::kOpenNone) {
        if (__builtin_expect(open == format::kOpenCall, 1)) {
            close_call(thread, now);
            open_interval(thread, format::kOpenWork);
        } else {
            close_open(thread, now);
        }
    }
    const uint64_t ticks = now - call.begin;
    format::CallSlot &slot = *call.slot;
    slot.ticks += ticks;
    if (ticks > slot.max_ticks) slot.max_ticks = ticks;
    if (call.in_task) slot.task_ticks += ticks;
    if (call.is_serial) slot.serial_ticks += ticks;
    if (!call.is_accounted) slot.unaccounted_ticks += ticks;
    if (call.is_traced && thread.tracing) thread.log.timed(format::kCall, slot.id, now, call.leave_word);
    thread.call.slot = nullptr;
    if (__builtin_expect(call.is_unwatched, 0)) resume_watch(thread);
}

// Ends a call that an exception or longjmp has left.
[[gnu::noinline, gnu::cold]] inline void end_left_call(ThreadState &thread) { end_library_call(thread); }

// True if the thread is in an MPI call or target construct. `frame`: the stack pointer of the function that makes the
// present call. If `frame` shows that an exception or longjmp has left the earlier call, ends that call and returns
// false.
inline bool is_in_library_call(ThreadState &thread, const void *frame) {
    if (__builtin_expect(!thread.call.slot, 1)) return false;
    if (frame < thread.call.frame) return true; // stacks grow downwards
    end_left_call(thread);
    return false;
}

} // namespace ompass
