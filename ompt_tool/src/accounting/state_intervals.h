// SPDX-License-Identifier: Apache-2.0
// The time of a thread, divided into state intervals. Closing an interval adds its time to one of the states of
// metrics.md (account) and to a construct (charge). Owns header.mark and every sum of ticks. tasks, waits and regions
// decide which event closes which interval.
//
// Invariant, per thread and region:  sum of state_ticks == header.mark - start of its part of the region - time in
// inner regions. A function that closes an interval moves `mark` from its start to its end and adds the difference.
//
// Timing an undeferred task of some 20 ns costs more than the task. So the tool counts all undeferred tasks, but times
// only one in `period`. The time of the others stays in the thread's work (pool_ticks). The reader distributes it over
// constructs in proportion to the timed intervals (timed_weight).
#pragma once

#include "accounting/thread_state.h"
#include "counters.h"
#include "process/clock.h"
#include "run_switch.h"

namespace ompass {

using format::EventKind;
using format::State;

// True if the thread may have been off-CPU in a state interval that ends at `end`. Costs two loads from a cache line
// that the kernel writes at a switch. Costs a third load while the thread's processor-time clock replaces the records
// of switches.
inline bool has_off_cpu(const ThreadState &thread, uint64_t end) {
    return __builtin_expect(thread.ring->data_head != thread.ring->data_tail, 0) && !thread.off_cpu.can_wait(end);
}

// Takes the off-CPU intervals up to `begin`, which lie outside of state intervals, and adds them to header->outside.
void pass_off_cpu(ThreadState &thread, uint64_t begin);
// Takes the off-CPU intervals up to `end`. The caller charges them.
format::OffCpuTicks take_off_cpu(ThreadState &thread, uint64_t end);
// Charges the off-CPU intervals in the state interval that ends at `end` to its state and, in work, also to its
// construct.
[[gnu::noinline]] void charge_off_cpu(ThreadState &thread, State state, uint64_t end);

// Stops samples and records of switches until resume_watch(), for one state interval in which the thread may switch
// thousands of times a second. The thread's processor-time clock then gives the off-CPU time.
void pause_watch(ThreadState &thread);
void resume_watch(ThreadState &thread);

// During work, takes and charges the off-CPU intervals up to `now`, and leaves the state interval open. Outside of the
// accounted time, takes and only counts them. Does nothing in other states.
[[gnu::noinline]] void update_off_cpu(ThreadState &thread, uint64_t now);

// Reads the thread's clocks, and charges the off-CPU time in [begin, end) to the region.
[[gnu::noinline]] void take_clocks(ThreadState &thread, format::RegionSlot &region, uint64_t begin, uint64_t end,
                                   uint64_t now);
// Calls take_clocks() if a reading is due. A reading is never due if the kernel records the thread's switches.
inline void read_clocks(ThreadState &thread, format::RegionSlot &region, uint64_t begin, uint64_t end, uint64_t now) {
    if (__builtin_expect(thread.clocks.is_due(now), 0)) take_clocks(thread, region, begin, end, now);
}
// If a reading is due, charges all off-CPU time since the last reading.
inline void read_clocks(ThreadState &thread, uint64_t now) { read_clocks(thread, *thread.region->slot, 0, now, now); }

// Adds the page faults and the system time since the last reading to the thread, and the share of the period
// [begin, end) to its region. Called by the thread itself.
[[gnu::noinline]] void take_system_use(ThreadState &thread, uint64_t begin, uint64_t end, uint64_t now);
// Calls take_system_use() if a reading is due.
inline void read_system_use(ThreadState &thread, uint64_t begin, uint64_t end, uint64_t now) {
    if (__builtin_expect(thread.system_use.is_due(now), 0)) take_system_use(thread, begin, end, now);
}
// If a reading is due, adds all page faults and system time since the last reading to the thread and its region.
inline void read_system_use(ThreadState &thread, uint64_t now) { read_system_use(thread, 0, now, now); }

// True if there are samples to take. Costs two loads from one line, which the kernel writes with each sample.
inline bool has_samples(const ThreadState &thread) {
    return __builtin_expect(thread.sample_ring->data_head != thread.sample_ring->data_tail, 0);
}

// Logs the samples up to `begin`, which lie outside of state intervals.
void pass_samples(ThreadState &thread, uint64_t begin);
// Logs the samples of the state interval that ends at `end`, and all samples before it.
[[gnu::noinline]] void take_samples(ThreadState &thread, State state, uint64_t end);

// Adds the time up to `end` to a state of the thread in its region. Returns the length of that time.
inline uint64_t account(ThreadState &thread, State state, uint64_t end) {
    if (has_samples(thread)) take_samples(thread, state, end); // first: charge_off_cpu() may suspend samples
    if (has_off_cpu(thread, end)) charge_off_cpu(thread, state, end);
    OMPASS_ASSERT(end >= thread.header->mark);
    const uint64_t ticks = end - thread.header->mark;
    thread.header->mark = end;
    thread.region->slot->state_ticks[static_cast<size_t>(state)] += ticks;
#if OMPASS_ASSERTIONS
    thread.accounted += ticks;
#endif
    return ticks;
}

// Asserts at the end of a thread's part of `region` that all its time is accounted, there and in inner regions.
inline void check_part([[maybe_unused]] const ThreadState &thread, [[maybe_unused]] const EnteredRegion &region) {
#if OMPASS_ASSERTIONS
    OMPASS_ASSERT(thread.accounted - region.accounted_before == thread.header->mark - region.begin);
#endif
}

// Read the hardware counters, except in a pause. charge_counters() charges the counts since the last reading to the
// current task's construct, or to the region in an implicit task. skip_counters() discards them.
[[gnu::noinline]] void charge_counters(ThreadState &thread);
[[gnu::noinline]] void skip_counters(ThreadState &thread);
// Divides the counts at the start or end of a pause. At the start, charges or discards the counts since the last
// reading, as the open state interval requires. At the end, discards the counts of the pause, also for open kernels.
void divide_counters(ThreadState &thread);

// Charges work to the current task's construct, or to the region in an implicit task.
inline void charge(ThreadState &thread, uint64_t ticks) {
    const TaskState *task = thread.current;
    if (task->local)
        task->local->slot->own_ticks += ticks;
    else
        thread.region->slot->implicit_ticks += ticks;
}

// Lets the extension count light tasks itself, except in a pause and while a task is timed (see begin_timed). In these
// cases the extension reports every event.
inline void switch_light_counters(ThreadState &thread) {
    thread.light_counters.then = (thread.work.is_timed | !thread.counting) ? recorder::kNever : thread.seen_switch;
}

// Times the open interval of work if the current task represents other tasks (`weight` > 1). The interval then contains
// only this task's work, and the extension reports every event.
inline void begin_timed(ThreadState &thread, uint32_t weight) {
    thread.work.is_timed = weight > 1;
    thread.work.weight = static_cast<uint16_t>(weight);
    switch_light_counters(thread);
}

// Makes the open interval of work an ordinary one.
inline void leave_timed(ThreadState &thread) {
    thread.work.is_timed = false;
    switch_light_counters(thread);
}

// True if several tasks share the open interval of work: untimed tasks ran in it, or the current task is an untimed
// deferred task.
inline bool is_shared(const ThreadState &thread) { return thread.work.dirty || is_untimed_deferred(*thread.current); }

// Charges work that several tasks share, or the work of a timed task, which represents other tasks.
[[gnu::noinline]] void charge_timed(ThreadState &thread, uint64_t ticks);

// Closes a state interval of work.
inline void close_work(ThreadState &thread, uint64_t now) {
    const uint64_t ticks = account(thread, State::kWork, now);
    if (__builtin_expect(thread.work.dirty | thread.work.is_timed | ((thread.current->flags & kTimedOrUntimed) != 0),
                         0)) {
        charge_timed(thread, ticks);
    } else {
        thread.current->owner->worked += ticks;
        charge(thread, ticks);
    }
    if (__builtin_expect(thread.has_counters, 0)) charge_counters(thread);
}

// Closes a state interval in a state other than work.
inline void close_interval(ThreadState &thread, State state, uint64_t now) {
    account(thread, state, now);
    if (__builtin_expect(thread.has_counters, 0)) skip_counters(thread);
}

// Returns the slot of the wait that the open gap belongs to: the current task's wait. An undeferred task that a runtime
// creates inside a wait does not wait itself. Its gap belongs to no wait, so it goes to a slot that is never read.
inline format::WaitSlot &wait_of_gap(ThreadState &thread) {
    const TaskState &task = *thread.current;
    return __builtin_expect(task.flags & kWaiting, 1) ? *task.wait : thread.places.wait_of(0);
}

// Closes a gap in a wait.
inline void close_gap(ThreadState &thread, State state, uint64_t now) {
    format::gap_ticks(wait_of_gap(thread), state) += now - thread.header->mark;
    close_interval(thread, state, now);
}

// Closes the interval of an MPI call or a target construct.
[[gnu::noinline]] void close_call(ThreadState &thread, uint64_t now);

inline void open_interval(ThreadState &thread, format::OpenState state) { thread.header->open_state = state; }

// Ends a wrapped creation when the runtime returns, or when the created task starts inside the call. Closes the
// interval of work before the creation, then the creation's own interval. With hardware counters, the interval of
// work is already closed.
inline void close_creation(ThreadState &thread, uint64_t now) {
    const uint64_t begin = thread.creation.begin;
    if (__builtin_expect(!thread.has_counters, 1)) close_work(thread, begin);
    close_interval(thread, State::kCreate, now);
    thread.current->creating = 0;
    const uint64_t ticks = now - begin;
    format::ConstructSlot *construct = thread.creation.reported ? thread.creation.construct->slot : nullptr;
    if (construct) construct->create_ticks += ticks;
    if (__builtin_expect(thread.creation.weight > 1, 0)) {
        thread.region->slot->create_weight += ticks * thread.creation.weight;
        if (construct) construct->create_weight += ticks * thread.creation.weight;
    }
    if (thread.tracing) {
        if (ticks < format::kArgumentLimit && thread.creation.weight == 1 && construct) // one word suffices
            thread.log.create_span(ticks, now);
        else
            thread.log.timed(format::kCreateSpanLong, thread.creation.weight | (construct ? 0 : format::kWithoutCreate),
                             now, ticks);
    }
}

// Closes the open state interval. An open gap counts as idle. (Other functions close a gap that ends with a task's
// start or with the wait.)
inline void close_open(ThreadState &thread, uint64_t now) {
    switch (thread.header->open_state) {
    case format::kOpenWork:
        if (__builtin_expect(thread.current->creating, 0))
            close_creation(thread, now);
        else
            close_work(thread, now);
        break;
    case format::kOpenFork: close_interval(thread, State::kSync, now); break;
    case format::kOpenGap: close_gap(thread, State::kIdle, now); break;
    case format::kOpenCall: close_call(thread, now); break;
    default: thread.header->mark = now;
    }
}

// Makes `task` the current task, and opens a state interval at `now`: a gap if the task waits, else work.
inline void enter(ThreadState &thread, TaskState *task, uint64_t now) {
    thread.current = task;
    thread.header->mark = now;
    if (task->flags & kWaiting) {
        open_interval(thread, format::kOpenGap);
        thread.header->open_wait = task->wait->id;
    } else {
        open_interval(thread, format::kOpenWork);
    }
    thread.header->open_construct = task->local ? task->local->id : 0;
}

// Closes the idle part of a gap, up to `until`. Returns its length.
inline uint64_t close_idle_gap(ThreadState &thread, uint64_t until, uint64_t now) {
    const uint64_t mark = thread.header->mark;
    const uint64_t ticks = until <= mark ? 0 : (until >= now ? now : until) - mark;
    if (ticks == 0) return 0;
    account(thread, State::kIdle, mark + ticks);
    format::gap_ticks(wait_of_gap(thread), State::kIdle) += ticks;
    return ticks;
}

// Closes a gap that ends because a task starts: idle until the task was ready, then schedule. Returns the idle time.
inline uint64_t close_gap_before_task(ThreadState &thread, uint64_t ready, uint64_t now) {
    const uint64_t idle = close_idle_gap(thread, ready, now);
    close_gap(thread, State::kSchedule, now);
    return idle;
}

// Records the place of the waits that follow, unless the trace named the same place last.
inline void trace_place(ThreadState &thread, const format::WaitSlot &wait) {
    if (thread.traced_wait == wait.id) return;
    thread.traced_wait = wait.id;
    thread.log.wait_place(wait.id);
}

// The gap at the end of a wait.
struct LastGap {
    uint64_t until_arrival; // at barriers: ticks until the last thread arrived
    uint64_t idle; // all idle ticks of the gap
    bool is_long; // true if `idle` exceeds the cost of leaving a wait
};

// Closes the gap at the end of a wait. `arrival`: at a barrier, when the last thread arrived; in other waits, any time
// before the gap. The gap is idle until `arrival`. The rest is idle if other threads may have run tasks and the rest is
// longer than the cost of leaving a wait; else the rest is sync.
inline LastGap close_gap_at_end(ThreadState &thread, uint64_t arrival, bool tasks_elsewhere, uint64_t now) {
    const uint64_t until_arrival = close_idle_gap(thread, arrival, now);
    const uint64_t rest = now - thread.header->mark;
    const bool is_idle = tasks_elsewhere && rest > thread.exit_ticks;
    close_gap(thread, is_idle ? State::kIdle : State::kSync, now);
    const uint64_t idle = until_arrival + (is_idle ? rest : 0);
    return {until_arrival, idle, idle > thread.exit_ticks};
}

} // namespace ompass
