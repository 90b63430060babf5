// SPDX-License-Identifier: Apache-2.0
#include "accounting/library_calls.h"

#include "accounting/held_tasks.h"

namespace ompass {

bool is_in_library_call(ThreadState &thread, const void *frame) {
    if (__builtin_expect(!thread.call.slot, 1)) return false;
    if (frame < thread.call.frame) return true; // stacks grow downwards
    end_library_call(thread);
    return false;
}

void begin_library_call(ThreadState &thread, format::CallSlot &slot, State state, const void *frame) {
    held_tasks::report_current(thread);
    const uint64_t now = clock::now();
    const bool is_accounted = thread.header->open_state == format::kOpenWork && !thread.current->creating;
    const bool in_task = thread.current->local != nullptr;
    if (is_accounted) close_work(thread, now);
    thread.previous.creator = nullptr;
    slot.n_calls++;
    slot.n_in_tasks += in_task;
    const bool is_traced = thread.tracing && slot.id && !thread.current->creating;
    thread.call = {&slot,     state, is_accounted, in_task, thread.region->instance == nullptr,
                   is_traced, false, now,          0,       frame};
    if (is_accounted) {
        open_interval(thread, format::kOpenCall);
        thread.header->open_wait = slot.id;
    }
    if (is_traced && state != State::kMpi) thread.log.timed(format::kCall, slot.id, now, format::kEnterCall);
}

void trace_begin_of_call(ThreadState &thread, uint64_t enter_word, uint64_t leave_word) {
    LibraryCall &call = thread.call;
    if (!call.is_traced || !thread.tracing) return;
    thread.log.timed(format::kCall, call.slot->id, call.begin, enter_word);
    call.leave_word = leave_word;
}

void end_library_call(ThreadState &thread) {
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
    call.slot->ticks += ticks;
    if (ticks > call.slot->max_ticks) call.slot->max_ticks = ticks;
    if (call.in_task) call.slot->task_ticks += ticks;
    if (call.is_serial) call.slot->serial_ticks += ticks;
    if (!call.is_accounted) call.slot->unaccounted_ticks += ticks;
    if (call.is_traced && thread.tracing) thread.log.timed(format::kCall, call.slot->id, now, call.leave_word);
    thread.call.slot = nullptr;
    if (__builtin_expect(call.is_unwatched, 0)) resume_watch(thread);
}

} // namespace ompass
