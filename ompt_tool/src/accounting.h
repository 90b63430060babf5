// SPDX-License-Identifier: Apache-2.0
// What an event does to a thread: closes the open stretch of its time into one of the five states of metrics.md,
// charges it to a construct, counts, and writes the trace record. Times and places only; OMPT is callbacks.cpp's.
//
// Invariant, per thread and region:  sum of state_ticks == header.mark - begin of its part of the region.
// Every function here moves `mark` from the begin of a stretch to its end and adds exactly their difference.
//
// Undeferred tasks of some 20 ns cannot be timed one by one for less than they cost. They are all counted, and one
// in `period` is timed; the time of the others stays, exactly, in the thread's work (pool_ticks), and is shared out
// over constructs in proportion to the sampled stretches (sampled_weight). The reader does that division.
#pragma once

#include "counters.h"
#include "cpu.h"
#include "recorder.h"

namespace ompass {

using format::EventKind;
using format::State;

inline void charge(ThreadState &thread, uint64_t ticks) {
    const TaskState *task = thread.current;
    if (task->local)
        task->local->slot->own_ticks += ticks;
    else
        thread.region->slot->implicit_ticks += ticks;
}

// Closes a stretch of work.
inline void close_work(ThreadState &thread, uint64_t now) {
    const uint64_t ticks = now - thread.header->mark;
    thread.header->mark = now;
    thread.region->slot->state_ticks[static_cast<size_t>(State::kWork)] += ticks;
    thread.current->frame->worked += ticks;
    if (thread.dirty) {
        thread.header->pool_ticks += ticks;
        thread.dirty = false;
    } else {
        charge(thread, ticks);
        if (thread.sample_pending) {
            const uint64_t weight = ticks * thread.sample_weight;
            if (thread.current->local)
                thread.current->local->slot->sampled_weight += weight;
            else
                thread.region->slot->sampled_weight += weight;
            thread.sample_pending = false;
        }
    }
    if (__builtin_expect(thread.counter_set != counters::kNone, 0)) counters::charge_current(thread);
}

// Closes a stretch in a state other than work.
inline void close_stretch(ThreadState &thread, State state, uint64_t now) {
    thread.region->slot->state_ticks[static_cast<size_t>(state)] += now - thread.header->mark;
    thread.header->mark = now;
    if (__builtin_expect(thread.counter_set != counters::kNone, 0)) counters::skip(thread);
}

inline void open_stretch(ThreadState &thread, format::OpenState state) { thread.header->open_state = state; }

// Ends a bracketed creation, at the return from the runtime or when the created task starts inside it: the stretch of
// work before it, which nothing else has closed, and its own.
inline void close_creation(ThreadState &thread, uint64_t now) {
    const uint64_t begin = thread.create_begin;
    if (__builtin_expect(thread.counter_set == counters::kNone, 1)) close_work(thread, begin);
    close_stretch(thread, State::kCreate, now);
    thread.current->creating = 0;
    const uint64_t ticks = now - begin;
    format::ConstructSlot *construct = thread.create_event ? thread.create_construct->slot : nullptr;
    if (construct) construct->create_ticks += ticks;
    if (__builtin_expect(thread.create_weight > 1, 0)) {
        thread.region->slot->create_weight += ticks * thread.create_weight;
        if (construct) construct->create_weight += ticks * thread.create_weight;
    }
    if (thread.tracing) {
        if (ticks < format::kArgumentLimit && thread.create_weight == 1 && construct) // both in one word
            thread.log.timed(format::kCreateSpan, static_cast<uint32_t>(ticks), now);
        else
            thread.log.timed(format::kCreateSpanLong, thread.create_weight | (construct ? 0 : format::kUntoldCreation),
                             now, ticks);
    }
}

// Closes the open stretch of a thread that is not in a gap.
inline void close_open(ThreadState &thread, uint64_t now) {
    switch (thread.header->open_state) {
    case format::kOpenWork:
        if (__builtin_expect(thread.current->creating, 0))
            close_creation(thread, now);
        else
            close_work(thread, now);
        break;
    case format::kOpenFork: close_stretch(thread, State::kSync, now); break;
    case format::kOpenGap: close_stretch(thread, State::kIdle, now); break;
    default: thread.header->mark = now;
    }
}

// The thread goes on with `task`.
inline void enter(ThreadState &thread, TaskState *task, uint64_t now) {
    thread.current = task;
    thread.header->mark = now;
    open_stretch(thread, task->flags & kWaiting ? format::kOpenGap : format::kOpenWork);
    thread.header->open_construct = task->local ? task->local->id : 0;
}

// A gap that ends because a task starts: idle before the task was ready, schedule after.
inline void close_gap_before_task(ThreadState &thread, uint64_t ready, uint64_t now) {
    const uint64_t mark = thread.header->mark;
    const uint64_t split = ready <= mark ? mark : ready >= now ? now : ready;
    thread.region->slot->state_ticks[static_cast<size_t>(State::kIdle)] += split - mark;
    thread.header->mark = split;
    close_stretch(thread, State::kSchedule, now);
}

// A gap that ends with the wait: idle until `arrival` (the last thread's, at barriers; else the gap's begin). What
// follows is idle too when tasks may have run elsewhere and it is longer than the cost of leaving, else sync.
inline void close_gap_at_end(ThreadState &thread, uint64_t arrival, bool tasks_elsewhere, uint64_t now) {
    const uint64_t mark = thread.header->mark;
    const uint64_t split = arrival <= mark ? mark : arrival >= now ? now : arrival;
    thread.region->slot->state_ticks[static_cast<size_t>(State::kIdle)] += split - mark;
    thread.header->mark = split;
    const bool idle = tasks_elsewhere && now - split > clock::from_ns(format::kExitNanoseconds);
    close_stretch(thread, idle ? State::kIdle : State::kSync, now);
}

inline void note_cpu(ThreadState &thread, uint32_t cpu) {
    if (__builtin_expect(thread.header->cpu == cpu, 1)) return;
    if (thread.header->cpu != ~0u) thread.header->n_migrations++;
    thread.header->cpu = cpu;
    if (thread.tracing) thread.log.untimed(format::kCpu, cpu);
}

// Adds one timed task, which stands for `weight` tasks, to the statistics of its construct.
inline void count_duration(format::ConstructSlot &slot, uint64_t ticks, uint32_t weight) {
    slot.inclusive_ticks += ticks * weight;
    if (slot.n_timed++ == 0 || ticks < slot.min_ticks) slot.min_ticks = ticks;
    if (ticks > slot.max_ticks) slot.max_ticks = ticks;
    const uint64_t ns = clock::to_ns(ticks);
    const unsigned bin = ns < 2 ? 0 : 63u - static_cast<unsigned>(__builtin_clzll(ns));
    slot.histogram[bin < format::kHistogramBins ? bin : format::kHistogramBins - 1] += weight;
}

// ---------------------------------------------------------------- tasks

// Gives a task that is at rest back to the pool it came from.
inline void free_task(ThreadState &thread, TaskState *task) {
    const bool dependent = task->flags & kDependent;
    task->creating = 0;
    task->n_predecessors = 0;
    if (!dependent) task->id = 0; // else a successor may still ask when it ended
    if (task->creator != thread.index)
        thread.pool.give_back_to(recorder::thread_of_index(task->creator)->pool, task);
    else if (dependent)
        thread.pool.give_back_late(task);
    else
        thread.pool.give_back(task);
}

// An untimed event inside a sampled stretch: takes the time that ends the sample. In a bracket that is its begin, since
// creation is no work.
inline void end_sample(ThreadState &thread) {
    const uint64_t now = thread.current->creating ? thread.create_begin : clock::now();
    close_work(thread, now);
    if (thread.tracing) thread.log.timed(format::kStamp, 0, now);
}

inline void begin_sample(ThreadState &thread, uint32_t weight) {
    thread.sample_pending = weight > 1;
    thread.sample_weight = weight;
}

[[gnu::noinline]] void trace_uncoded_begin(ThreadState &thread, TaskConstruct &construct);

inline void trace_inline_begin(ThreadState &thread, TaskConstruct &construct) {
    if (__builtin_expect(construct.inline_code < format::kInlineCodes, 1))
        thread.log.inline_begin(construct.inline_code);
    else
        trace_uncoded_begin(thread, construct);
}

// The same as begin_inline and end_inline, for tasks that are timed, or come while a sample or a bracket is open. Apart,
// so that the short path calls nothing and saves no register.
[[gnu::noinline]] void begin_inline_slowly(ThreadState &thread, TaskState *task);
[[gnu::noinline]] void end_inline_slowly(ThreadState &thread, TaskState *task);

inline void begin_inline(ThreadState &thread, TaskState *task) {
    TaskConstruct *construct = task->local;
    TaskState *creator = thread.current;
    thread.inline_period = construct->period;
    task->below = creator;
    task->frame = creator->frame;
    task->flags |= kStarted;
    if (__builtin_expect(thread.sample_pending | creator->creating | (construct->slot->countdown == 1), 0))
        return begin_inline_slowly(thread, task);
    construct->slot->countdown--;
    thread.current = task;
    thread.dirty = true;
    if (thread.tracing) trace_inline_begin(thread, *construct);
}

inline void end_inline(ThreadState &thread, TaskState *task) {
    if (__builtin_expect(thread.sample_pending | (task->flags != (kInline | kStarted)), 0))
        return end_inline_slowly(thread, task);
    *thread.n_tasks += thread.counting;
    thread.dirty = true;
    thread.current = task->below;
    thread.pool.give_back(task); // it ran where it was created
    if (thread.tracing) thread.log.inline_end();
}

// An undeferred task that is left before it completes (detached): from here on it counts like a deferred one.
void convert_inline(ThreadState &thread, TaskState *task);

// Is this the task, or the untied task of the part, that the thread runs?
inline bool runs(const ThreadState &thread, const TaskState *task) {
    const TaskState *current = thread.current;
    return current == task || ((current->flags & kPart) && current->whole == task);
}

// `home`: 1 + the domain in which the extension placed it; 0: the runtime holds it.
void create_deferred(ThreadState &thread, TaskState *task, TaskConstruct *construct, uint32_t home = 0);
void note_dependence(ThreadState &thread, const TaskState &before, TaskState &after);
void start_task(ThreadState &thread, TaskState *task);
void resume_task(ThreadState &thread, TaskState *task);
void complete_task(ThreadState &thread, TaskState *task, TaskState *next, uint32_t status);
void discard_task(ThreadState &thread, TaskState *task);
void fulfill_task(ThreadState &thread, TaskState *task);

// ---------------------------------------------------------------- waits and regions

void begin_wait(ThreadState &thread, uint32_t kind);
void end_wait(ThreadState &thread, uint32_t kind);
void begin_lock(ThreadState &thread, uint32_t kind);
void end_lock(ThreadState &thread, uint32_t kind);

// Of the primary thread.
void begin_region(ThreadState &thread, const void *address, void **parallel_data);
void end_region(ThreadState &thread);

// Of every member; `instance` null for an initial task.
TaskState *begin_implicit(ThreadState &thread, format::RegionInstance *instance, uint32_t team_size);
void end_implicit(ThreadState &thread, TaskState *task);

// Closes the account of a worker in regions that have ended meanwhile.
void close_ended_regions(ThreadState &thread);

// ---------------------------------------------------------------- brackets

// Around the runtime calls that allocate and enqueue a task. The begin is only noted, since a second reading follows.
inline void begin_creation(ThreadState &thread) {
    if (thread.header->open_state != format::kOpenWork || thread.current->creating) return;
    uint32_t weight = 1;
    if (thread.inline_period > 1) { // undeferred tasks too short to be timed one by one: their creation is sampled too
        if (thread.bracket_countdown > 1) {
            thread.bracket_countdown--;
            return;
        }
        weight = thread.bracket_countdown = thread.inline_period;
    }
    thread.create_begin = clock::now();
    thread.current->creating = 1;
    thread.create_event = false;
    thread.create_weight = weight;
    // Counters are read where the work ends.
    if (__builtin_expect(thread.counter_set != counters::kNone, 0)) close_work(thread, thread.create_begin);
}

inline void end_creation(ThreadState &thread) {
    if (!thread.current->creating) return;
    close_creation(thread, clock::now());
    open_stretch(thread, format::kOpenWork);
}

} // namespace ompass
