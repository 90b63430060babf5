// SPDX-License-Identifier: Apache-2.0
// The effects of task events on a thread: undeferred tasks, deferred ones from creation to completion, and wrapped
// creations. Each function closes a state interval (state_intervals.h), counts the event, and writes its trace record.
// callbacks.cpp translates OMPT's events into these calls. A thread passes only its own state to them.
#pragma once

#include <utility>

#include "accounting/state_intervals.h"
#include "process/cpu.h"
#include "recorder.h"

namespace ompass {

// Records the CPU that the thread runs on, if it has changed.
inline void note_cpu(ThreadState &thread, uint32_t cpu) {
    if (__builtin_expect(thread.header->cpu == cpu, 1)) return;
    if (thread.header->cpu != ~0u) thread.header->n_migrations++;
    thread.header->cpu = cpu;
    if (thread.tracing) thread.log.untimed(format::kCpu, cpu);
}

// Adds one timed task, which represents `weight` tasks, to the statistics of its construct.
inline void count_duration(format::ConstructSlot &slot, uint64_t ticks, uint32_t weight) {
    slot.inclusive_ticks += ticks * weight;
    if (slot.n_timed++ == 0 || ticks < slot.min_ticks) slot.min_ticks = ticks;
    if (ticks > slot.max_ticks) slot.max_ticks = ticks;
    const uint64_t ns = clock::to_ns(ticks);
    const unsigned bin = ns < 2 ? 0 : 63u - static_cast<unsigned>(__builtin_clzll(ns));
    slot.histogram[bin < format::kHistogramBins ? bin : format::kHistogramBins - 1] += weight;
}

// Puts a state on top of the thread's stack. The caller makes it current. If a part was on top, adds that part to the
// table of parts, because find_on_stack() looks there for all parts below the top.
inline void put_on_stack(ThreadState &thread, TaskState *task, TaskState *owner) {
    TaskState *top = thread.current;
    if (__builtin_expect((top->flags & (kPart | kListed)) == kPart, 0)) thread.parts.add(top);
    task->owner = owner;
    task->stack = static_cast<uint16_t>(thread.index);
    task->below = top;
}

// Gives the state of an ended task back to its pool.
inline void free_task(ThreadState &thread, TaskState *task) {
    const bool dependent = task->flags & kDependent;
    task->owner = nullptr;
    task->creating = 0;
    task->n_predecessors = 0;
    if (!dependent) task->id = 0; // a successor may still read the end of a dependent task
    task->flags = kOver;
    if (task->creator != thread.index) {
        if (ThreadState *creator = recorder::thread_of_index(task->creator)) // null: a thread of the parent of a fork
            thread.pool.give_back_to(creator->pool, task);
    } else if (dependent)
        thread.pool.give_back_delayed(task);
    else
        thread.pool.give_back(task);
}

// Ends the interval of a timed task at an untimed event. Inside a wrapper, the interval ends where the wrapper began,
// because creation is not work.
inline void end_timed(ThreadState &thread) {
    const uint64_t now = thread.current->creating ? thread.creation.begin : clock::now();
    close_work(thread, now);
    if (thread.tracing) thread.log.timed(format::kStamp, 0, now);
}

[[gnu::noinline]] void trace_uncoded_begin(ThreadState &thread, TaskConstruct &construct);

inline void trace_inline_begin(ThreadState &thread, TaskConstruct &construct) {
    if (__builtin_expect(construct.inline_code < format::kInlineCodes, 1))
        thread.log.inline_begin(construct.inline_code);
    else
        trace_uncoded_begin(thread, construct);
}

// Do the work of begin_inline and end_inline for all but the simplest tasks: for example if the task is timed, or runs
// inside a timed task. They are separate functions, so that the short path calls no function and saves no register.
[[gnu::noinline]] void begin_inline_slowly(ThreadState &thread, TaskState *task);
[[gnu::noinline]] void end_inline_slowly(ThreadState &thread, TaskState *task);

inline void begin_inline(ThreadState &thread, TaskState *task) {
    TaskConstruct *construct = task->local;
    TaskState *creator = thread.current;
    thread.creation.inline_period = construct->period;
    thread.creation.left_out = false;
    put_on_stack(thread, task, creator->owner);
    task->flags |= kStarted;
    if (__builtin_expect(thread.work.is_timed | creator->creating | (construct->slot->countdown == 1), 0))
        return begin_inline_slowly(thread, task);
    construct->slot->countdown--;
    thread.current = task;
    thread.work.dirty = true;
    if (thread.tracing) trace_inline_begin(thread, *construct);
}

inline void end_inline(ThreadState &thread, TaskState *task) {
    if (__builtin_expect(thread.work.is_timed | ((task->flags & ~(kLight | kUntimed)) != (kInline | kStarted)), 0))
        return end_inline_slowly(thread, task);
    *thread.n_tasks += thread.counting;
    thread.work.dirty = true;
    thread.current = task->below;
    task->owner = nullptr;
    task->flags = kOver;
    thread.pool.give_back(task); // the task ran on its creating thread
    if (thread.tracing) thread.log.inline_end();
}

// Converts an undeferred task to a deferred one, because its code ends before its event is fulfilled.
void convert_inline(ThreadState &thread, TaskState *task);

// True if the thread runs this task, or a part of it.
inline bool runs(const ThreadState &thread, const TaskState *task) { return is_entry_of(*thread.current, task); }

// True if the task is on another thread's stack, running or suspended.
inline bool is_elsewhere(const ThreadState &thread, const TaskState &task) {
    return (task.owner && task.stack != thread.index) || (task.flags & kImplicit && task.creator != thread.index);
}

// Counts a creation. `home`: 1 + the domain in which the extension placed the task; 0: the runtime holds it.
void create_deferred(ThreadState &thread, TaskState *task, TaskConstruct *construct, uint32_t home = 0);
void note_dependence(ThreadState &thread, const TaskState &before, TaskState &after);
void start_task(ThreadState &thread, TaskState *task, uint64_t now);

// Starts a task. Postpones the start of an untied task whose first part now begins and is probably empty (FirstPart).
inline void start_now(ThreadState &thread, TaskState *task) {
    if ((task->flags & (kUntied | kSubmitted)) == kUntied &&
        thread.constructs.of(task->construct)->n_empty_parts == kEmptyParts) {
        thread.first_part = {.task = task, .id = task->id, .seen_switch = thread.seen_switch};
        thread.seen_switch = recorder::kNever;
    } else {
        start_task(thread, task, clock::now());
    }
}

// Ends the first part of an untied task, which was empty.
inline void end_first_part(ThreadState &thread) {
    TaskState *task = thread.first_part.task;
    if (task->id == thread.first_part.id) task->flags |= kSubmitted;
    thread.first_part.task = nullptr;
    thread.seen_switch = thread.first_part.seen_switch;
}

// Starts a light task that the thread took from its own queue, in a wait of the parent for its children. If the tasks
// of the construct are short, reads the clock only for one in `period`, as for undeferred tasks. `known`: the present
// time; 0: unknown.
void start_at_hand(ThreadState &thread, TaskState *task, uint64_t known);
void begin_untimed(ThreadState &thread, TaskState *task, TaskConstruct &construct);
void begin_untimed_inline(ThreadState &thread, TaskState *task, TaskConstruct &construct);
void end_untimed(ThreadState &thread, TaskState *task);
void resume_task(ThreadState &thread, TaskState *task);
// Suspends the current task, which may resume on another thread, and resumes the task below it.
void step_back(ThreadState &thread);
// Ends the current part, whose end the runtime does not report. libomp reports a part's end when the part queues the
// task again, and the last part's end as the task's completion. If thread A queues the task again, and thread B runs
// the last part before A returns to libomp, A reports the completion, and the end of B's part is never reported.
void leave_ended_part(ThreadState &thread);
void complete_task(ThreadState &thread, TaskState *task, TaskState *next, uint32_t status);
void discard_task(ThreadState &thread, TaskState *task);
void fulfill_task(ThreadState &thread, TaskState *task);

// Completes a task that has started. `next`: the task that the runtime resumes next.
inline void finish_task(ThreadState &thread, TaskState *task, TaskState *next, uint32_t status) {
    if (task->flags & kInline) {
        if (task != thread.current) resume_task(thread, task);
        if (status != format::kStatusDetach) return end_inline(thread, task);
        convert_inline(thread, task);
    }
    if (!runs(thread, task)) resume_task(thread, task);
    complete_task(thread, task, next, status);
}

// ---------------------------------------------------------------- wrappers

// Returns the program's address in place of our wrapper's, which the runtime or the extension saw.
inline const void *wrapped_address(ThreadState &thread, const void *address) {
    if (thread.wrapper.address) return std::exchange(thread.wrapper.address, nullptr);
    return thread.wrapper.loop_task == thread.current ? thread.wrapper.loop_address : address;
}

// Decides whether a creation is timed, and notes its time.
void begin_new_creation(ThreadState &thread);

// Begins a creation. Called before the runtime function that allocates the task, and before the function that enqueues
// the task; the first call decides whether the creation is timed. Usually only notes the time; close_creation() later
// closes the interval of work before the creation.
inline void begin_creation(ThreadState &thread) {
    if (thread.header->open_state == format::kOpenWork && !thread.current->creating) begin_new_creation(thread);
}

// Discards the open creation and its address, because the wrapped call submits the rest of the current untied task, not
// a new task. The time since begin_creation() is work.
inline void forget_creation(ThreadState &thread) {
    thread.wrapper.address = nullptr;
    thread.creation.left_out = false;
    thread.current->creating = 0;
}

inline void end_creation(ThreadState &thread) {
    thread.creation.left_out = false;
    if (!thread.current->creating) return;
    close_creation(thread, clock::now());
    open_interval(thread, format::kOpenWork);
}

} // namespace ompass
