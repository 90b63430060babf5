// SPDX-License-Identifier: Apache-2.0
// The statistics of a run, each declared once: the slots in a thread's log, in ticks, and the rows that readers make
// from them, in nanoseconds. Bindings, the type stub, SQL columns and documents are generated from the lists below.
//
// A new figure goes to the end of its slot, where older logs have 0.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>

#include "describe.h"
#include "format.h"

namespace ompass::format {

// The statistics of one thread for one task construct, kernel or phase.
struct ConstructSlot {
    uint32_t id; // construct; 0: unused slot
    DefinitionKind kind;
    uint64_t n_deferred; // created and queued
    uint64_t n_undeferred; // created and started at once; 0 in a log, see begun_undeferred()
    uint64_t n_completed; // in a log: without undeferred tasks, which count as complete when they begin
    uint64_t n_drawn; // undeferred tasks up to the last timed one; begun_undeferred() gives all
    uint32_t weight; // tasks after the last timed one, up to the next timed one (included)
    uint32_t countdown; // part of `weight` that has not begun
    // Undeferred tasks that do not count as completed when they begin: detached ones, which complete like deferred
    // tasks, and those that were open when a pause began.
    uint64_t n_converted;
    uint64_t n_cancelled;
    uint64_t create_ticks; // measured by the wrappers
    uint64_t create_weight; // weight of these tasks' creation in pool_ticks; also in the region's create_weight
    uint64_t own_ticks; // work known to belong to this construct; phases, in a log: sum of ends - sum of begins
    uint64_t timed_weight; // share of this construct in pool_ticks, relative to the sum of all weights
    uint64_t inclusive_ticks; // durations of the timed tasks, in total
    uint64_t n_timed;
    uint64_t min_ticks; // shortest timed task; 0: none
    uint64_t max_ticks;
    uint64_t ready_ticks;
    uint64_t ready_max_ticks;
    uint64_t n_ready;
    uint64_t n_other_thread;
    uint64_t n_other_core;
    uint64_t n_other_domain;
    uint64_t read_bytes;
    uint64_t write_bytes;
    uint64_t counters[kMaxCounters];
    uint64_t histogram[kHistogramBins]; // timed durations; bin k: [2^k, 2^(k+1)) ns
    OffCpuTicks off_cpu; // part of own_ticks
    uint64_t n_detached; // tasks whose code ended before their event was fulfilled
    uint64_t n_events_fulfilled; // events of such tasks, fulfilled by this thread
    uint64_t n_events_outside; // part of n_events_fulfilled: this thread is not in the task's team
    uint64_t event_ticks; // from the end of the code to the event, summed over the events that this thread fulfilled
    uint64_t event_max_ticks;
    uint64_t call_ticks[2]; // time of these tasks in the states kMpi and kOffload; not part of own_ticks
};
static_assert(sizeof(ConstructSlot) <= kSlotBytes);

// Returns the time of a task construct in kMpi or kOffload.
constexpr uint64_t &call_ticks(ConstructSlot &slot, State state) {
    return slot.call_ticks[static_cast<size_t>(state) - static_cast<size_t>(State::kMpi)];
}

constexpr uint64_t begun_undeferred(const ConstructSlot &slot) { return slot.n_drawn + slot.weight - slot.countdown; }

inline constexpr unsigned kDomainCounts = 48;

// The statistics of one thread for one parallel construct; slot 0: outside every region.
struct RegionSlot {
    uint32_t id; // construct; slot 0 has kind kProgram
    DefinitionKind kind;
    uint64_t n_instances;
    uint64_t n_primary;
    uint64_t wall_ticks; // primary only
    uint64_t capacity_ticks; // primary only: team size x duration
    uint64_t max_team_size; // primary only
    uint64_t level;
    uint64_t nested_ticks; // in inner regions led by this thread
    uint64_t state_ticks[kStates];
    uint64_t implicit_ticks; // part of work
    uint64_t lock_ticks; // part of sync
    uint64_t n_tasks; // explicit tasks completed here; detached ones count where their code ends
    uint64_t n_created; // deferred tasks created here
    uint64_t create_weight; // share of the creation of undeferred tasks in pool_ticks
    uint64_t timed_weight; // share of the implicit task in pool_ticks
    uint64_t counters[kMaxCounters]; // counts in the implicit task
    // The next fields are for tasks that libomp_ext.so holds.
    uint64_t domain; // 1 + the locality domain of this thread when it last started a task; 0: none
    uint64_t n_rescued; // tasks started here outside their domain because the program would have hung
    uint64_t n_steals; // tasks taken from another thread's queue
    uint64_t n_failed_steals; // attempts that took no task from a queue with tasks
    uint64_t steal_ticks; // time of successful attempts
    uint64_t failed_steal_ticks;
    uint64_t n_from_domain[kDomainCounts]; // tasks started here, by the domain of their placement; last: all others
    OffCpuTicks off_cpu[kStates]; // part of state_ticks
    OffCpuTicks off_cpu_implicit; // part of implicit_ticks
    OffCpuTicks off_cpu_anywhere; // part of all state_ticks, if CpuSource::kClocks leaves the state unknown
    SystemUse system_use; // in the thread's part of the regions
    uint64_t n_smaller; // primary only: instances with fewer threads than requested
    uint64_t max_requested; // primary only: most threads requested for such an instance
};
static_assert(sizeof(RegionSlot) <= kSlotBytes);

// Counts an instance with `team_size` threads, for which the program requested `n_requested`.
constexpr void count_request(RegionSlot &slot, uint64_t n_requested, uint64_t team_size) {
    if (n_requested <= team_size) return;
    slot.n_smaller++;
    if (n_requested > slot.max_requested) slot.max_requested = n_requested;
}

// Waits for one construct. The last entry of a slot is the sum over all constructs that have no entry.
inline constexpr unsigned kWaitedForEntries = 8;
struct WaitedFor {
    uint64_t construct; // 0: free entry, or the last entry
    uint64_t n;
    uint64_t ticks;
};

// The statistics of one thread for one wait.
struct WaitSlot {
    uint32_t id; // construct; 0: unused slot
    DefinitionKind kind;
    uint64_t n_waits;
    uint64_t n_long;
    uint64_t ticks; // length of the waits that ended, with the tasks inside
    uint64_t gap_ticks[3]; // time in which the thread ran nothing: schedule, sync, idle
    uint64_t max_ticks; // longest wait that ended
    uint64_t delay_ticks; // dependences: from creation to ready
    WaitedFor waited_for[kWaitedForEntries];
};
static_assert(sizeof(WaitSlot) <= kSlotBytes);

constexpr uint64_t &gap_ticks(WaitSlot &slot, State state) {
    return slot.gap_ticks[static_cast<size_t>(state) - static_cast<size_t>(State::kSchedule)];
}
// Limits off-CPU time to `whole`, because readings of a clock may be tens of nanoseconds early.
constexpr OffCpuTicks shortened(OffCpuTicks off_cpu, uint64_t whole) {
    const uint64_t blocked = off_cpu.blocked < whole ? off_cpu.blocked : whole;
    return {off_cpu.preempted < whole - blocked ? off_cpu.preempted : whole - blocked, blocked};
}
// Subtracts `excess`, the time that the thread accounted after the end of the region. Takes it from `state` first, and
// limits off-CPU times to the remaining times. If `state` has less than `excess`, takes the rest from other states and
// returns false: only a wait may last longer than its region, so the runtime contradicted itself.
constexpr bool take_back(RegionSlot &slot, WaitSlot &wait, State state, uint64_t excess) {
    uint64_t *ticks = slot.state_ticks, &gap = gap_ticks(wait, state);
    const bool had_enough = ticks[static_cast<size_t>(state)] >= excess;
    gap = gap > excess ? gap - excess : 0;
    for (const State from : {state, State::kIdle, State::kSync, State::kWork}) {
        uint64_t &place = ticks[static_cast<size_t>(from)];
        const uint64_t taken = place < excess ? place : excess;
        place -= taken;
        excess -= taken;
        OffCpuTicks &off_cpu = slot.off_cpu[static_cast<size_t>(from)];
        off_cpu = shortened(off_cpu, place);
    }
    return had_enough;
}
// Counts a long wait for `construct`.
constexpr void count_waited_for(WaitSlot &slot, uint64_t construct, uint64_t ticks) {
    unsigned place = 0;
    while (place + 1 < kWaitedForEntries && slot.waited_for[place].construct != construct && slot.waited_for[place].n)
        place++;
    if (place + 1 < kWaitedForEntries) slot.waited_for[place].construct = construct;
    slot.waited_for[place].n++;
    slot.waited_for[place].ticks += ticks;
}

// The statistics of one thread for one loop, or another construct that shares work.
struct LoopSlot {
    uint32_t id; // construct; 0: unused slot
    DefinitionKind kind;
    uint64_t n_entered;
    uint64_t n_led; // instances led as primary or executed alone
    uint64_t n_iterations; // in total, of the instances that the thread led
    uint64_t n_chunks; // taken by this thread
    uint64_t n_taken; // iterations in these chunks
    uint64_t ticks;
    uint64_t max_ticks; // longest instance
    uint64_t imbalance_ticks; // idle time at the barrier after the loop, until the last thread arrived
};
static_assert(sizeof(LoopSlot) <= kSlotBytes);

// Data operations of one kind. The last entry of a slot is the sum over all kinds that have no entry.
inline constexpr unsigned kTargetOperations = 12;
struct TargetOperation {
    uint64_t operation; // 0: free entry, or the last entry
    uint64_t n;
    uint64_t bytes;
    uint64_t ticks;
};

// The statistics of one thread for one place that calls MPI, or for one target construct and device.
struct CallSlot {
    uint32_t id; // construct; 0: unused slot
    DefinitionKind kind;
    uint64_t n_calls;
    uint64_t ticks; // length of the calls that ended
    uint64_t max_ticks;
    uint64_t n_in_tasks; // part of n_calls: in explicit tasks
    uint64_t task_ticks; // part of ticks: in explicit tasks
    uint64_t serial_ticks; // part of ticks: outside of parallel regions
    uint64_t unaccounted_ticks; // part of ticks: in no state, because OpenMP does not know the thread
    // The next fields are for target constructs.
    uint64_t n_launches;
    uint64_t launch_ticks;
    uint64_t n_repeated; // transfers to the device from host memory that was transferred before
    uint64_t repeated_bytes;
    uint64_t n_device_kernels; // kernels that the device timed
    uint64_t device_kernel_ns;
    uint64_t n_device_transfers; // data operations that the device timed
    uint64_t device_transfer_ns;
    TargetOperation operations[kTargetOperations];
};
static_assert(sizeof(CallSlot) <= kSlotBytes);

// Counts a step of a target construct. `step`: word 1 of its record; `ticks`: its duration.
constexpr void count_call_step(CallSlot &slot, uint64_t step, uint64_t ticks) {
    const uint64_t value = step_value(step);
    switch (call_step(step)) {
    case kLaunchStep: slot.n_launches++, slot.launch_ticks += ticks; break;
    case kDeviceKernelStep: slot.n_device_kernels++, slot.device_kernel_ns += value; break;
    case kDeviceDataStep: slot.n_device_transfers++, slot.device_transfer_ns += value; break;
    case kDataStep: {
        const uint64_t operation = step_operation(step);
        unsigned place = 0;
        while (place + 1 < kTargetOperations && slot.operations[place].n &&
               slot.operations[place].operation != operation)
            place++;
        TargetOperation &entry = slot.operations[place];
        if (place + 1 < kTargetOperations) entry.operation = operation;
        entry.n++, entry.bytes += value, entry.ticks += ticks;
        if (is_repeated_step(step)) slot.n_repeated++, slot.repeated_bytes += value;
        break;
    }
    default: break;
    }
}

} // namespace ompass::format

namespace ompass {

// X(type, name, meaning, value): the expression `value` uses `slot`, or the `header` of the thread's log. `to` converts
// ticks (see run_profile.cpp).
#define OMPASS_THREAD_ROW(X)                                                                                           \
    X(uint32_t, thread, "number of the thread's log", to.thread)                                                       \
    X(uint32_t, tid, "number in the operating system", header.tid)                                                     \
    X(std::string, kind, "initial, worker, helper or other", name_of(header.kind))                                     \
    X(uint64_t, first_ns, "first moment recorded, since the start of the run",                                         \
      to.clock.since_start(header.first_ticks))                                                                        \
    X(uint64_t, last_ns, "last moment accounted", to.clock.since_start(account.last))                                  \
    X(uint64_t, n_events, "records of its trace; 0 from read_profile(), which does not count them", account.n_events)  \
    X(uint64_t, n_dropped, "records of its trace that could not be written", header.n_dropped)                         \
    X(uint64_t, n_migrations, "changes of CPU that the tool noticed", header.n_migrations)                             \
    X(std::string, cpu_source,                                                                                         \
      "source of preempted and blocked times: switches (the kernel's records) or clocks (of the thread; states are "   \
      "unknown); empty: the times are unknown, and 0",                                                                 \
      name_of(account.cpu_source))                                                                                     \
    X(uint64_t, n_lost_switches, "lost records of switches; if any, part of preempted and blocked is estimated",       \
      header.n_lost_switches)                                                                                          \
    X(uint64_t, by_clock_ns, "time in which switches were too frequent to record, and its clock was read instead",     \
      to.ns(header.clock_ticks))                                                                                       \
    X(uint64_t, unaccounted_preempted_ns, "preempted between regions, outside the accounted time",                     \
      to.ns(header.outside.preempted))                                                                                 \
    X(uint64_t, unaccounted_blocked_ns, "blocked between regions, outside the accounted time",                         \
      to.ns(header.outside.blocked))                                                                                   \
    X(uint64_t, ended_ns, "end of the thread; 0: not before the end of recording", ended_ns(to, header))               \
    X(int64_t, n_minor_faults, "page faults without a disk, in regions and outside; -1: unknown",                      \
      to.system_use(header.system_use.n_minor_faults))                                                                 \
    X(int64_t, n_major_faults, "page faults that read a disk; -1: unknown",                                            \
      to.system_use(header.system_use.n_major_faults))                                                                 \
    X(int64_t, system_ns, "time in the operating system's kernel; -1: unknown",                                        \
      to.system_use(header.system_use.system_ns))

#define OMPASS_REGION_ROW(X)                                                                                           \
    X(int32_t, construct, "number of the parallel construct; -1: outside every region",                                \
      to.id ? static_cast<int32_t>(to.id) : -1)                                                                        \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, level, "nesting depth of its first instance, 1 is outermost; 0 outside every region", slot.level)      \
    X(uint64_t, n_instances, "instances that the thread took part in", slot.n_instances)                               \
    X(uint64_t, n_primary, "instances that it led", slot.n_primary)                                                    \
    X(uint64_t, wall_ns, "total duration of the instances that it led", to.ns(slot.wall_ticks))                        \
    X(uint64_t, capacity_ns, "team size times duration, summed over the instances that it led", 0)                     \
    X(uint64_t, max_team_size, "largest team of an instance that it led", slot.max_team_size)                          \
    X(uint64_t, total_ns, "its thread-time, without inner regions that it led; the sum of the states", time.total_ns)  \
    X(uint64_t, nested_ns, "its time in inner regions that it led", to.ns(slot.nested_ticks))                          \
    X(uint64_t, work_ns, "thread-time in user code", time.state_ns[0])                                                 \
    X(uint64_t, create_ns, "thread-time in the creation of tasks", time.state_ns[1])                                   \
    X(uint64_t, schedule_ns, "thread-time spent on fetching ready tasks", time.state_ns[2])                            \
    X(uint64_t, sync_ns, "thread-time in barriers, waits and locks for other reasons than lack of tasks",              \
      time.state_ns[3])                                                                                                \
    X(uint64_t, idle_ns, "thread-time without a task to run", time.state_ns[4])                                        \
    X(uint64_t, implicit_ns, "part of work_ns in the implicit task itself",                                            \
      std::min(to.ns(slot.implicit_ticks), time.state_ns[0]))                                                          \
    X(uint64_t, lock_ns, "part of sync_ns in locks, critical, ordered and atomic", to.ns(slot.lock_ticks))             \
    X(uint64_t, n_tasks,                                                                                               \
      "explicit tasks that the thread completed there; a detached task counts where its code ended", slot.n_tasks)     \
    X(int64_t, domain, "locality domain of libomp_ext.so in which it last started a task; -1: no held tasks",          \
      static_cast<int64_t>(slot.domain - 1))                                                                           \
    X(uint64_t, n_rescued, "tasks started outside their domain because the program would have hung", slot.n_rescued)   \
    X(uint64_t, n_steals, "tasks taken from queues of other threads", slot.n_steals)                                   \
    X(uint64_t, n_failed_steals, "attempts that took no task from a queue with tasks", slot.n_failed_steals)           \
    X(uint64_t, steal_ns, "time of the successful attempts", to.ns(slot.steal_ticks))                                  \
    X(uint64_t, failed_steal_ns, "time of the failed attempts", to.ns(slot.failed_steal_ticks))                        \
    X(Numbers<format::kDomainCounts>, n_from_domain,                                                                   \
      "tasks started here, by the domain of their placement; the last entry: all others",                              \
      Numbers<format::kDomainCounts>::of(slot.n_from_domain, format::kDomainCounts))                                   \
    X(Numbers<format::kMaxCounters>, counters, "hardware counters of the implicit task, in the order of Run.counters", \
      to.counters(slot.counters))                                                                                      \
    X(uint64_t, preempted_ns, "part of total_ns off-CPU, although the thread could have run", time.off_cpu.preempted)  \
    X(uint64_t, blocked_ns, "part of total_ns off-CPU, because the thread left its processor voluntarily",             \
      time.off_cpu.blocked)                                                                                            \
    X(uint64_t, work_preempted_ns, "part of work_ns, preempted", time.off_cpu_work.preempted)                          \
    X(uint64_t, work_blocked_ns, "part of work_ns, blocked", time.off_cpu_work.blocked)                                \
    X(int64_t, n_minor_faults, "page faults of the thread there that needed no disk; -1: unknown",                     \
      to.system_use(slot.system_use.n_minor_faults))                                                                   \
    X(int64_t, n_major_faults, "page faults there that read a disk; -1: unknown",                                      \
      to.system_use(slot.system_use.n_major_faults))                                                                   \
    X(int64_t, system_ns, "time there in the operating system's kernel, in any state; -1: unknown",                    \
      to.system_use(slot.system_use.system_ns))                                                                        \
    X(uint64_t, schedule_preempted_ns, "part of schedule_ns, preempted", time.off_cpu_state[2].preempted)              \
    X(uint64_t, schedule_blocked_ns, "part of schedule_ns, blocked", time.off_cpu_state[2].blocked)                    \
    X(uint64_t, sync_preempted_ns, "part of sync_ns, preempted", time.off_cpu_state[3].preempted)                      \
    X(uint64_t, sync_blocked_ns, "part of sync_ns, blocked", time.off_cpu_state[3].blocked)                            \
    X(uint64_t, idle_preempted_ns, "part of idle_ns, preempted", time.off_cpu_state[4].preempted)                      \
    X(uint64_t, idle_blocked_ns, "part of idle_ns, blocked", time.off_cpu_state[4].blocked)                            \
    X(uint64_t, n_smaller, "instances that it led with fewer threads than requested", slot.n_smaller)                  \
    X(uint64_t, max_requested, "most threads requested for such an instance", slot.max_requested)                      \
    X(uint64_t, mpi_ns, "thread-time in MPI calls", time.state_ns[5])                                                  \
    X(uint64_t, mpi_preempted_ns, "part of mpi_ns, preempted", time.off_cpu_state[5].preempted)                        \
    X(uint64_t, mpi_blocked_ns, "part of mpi_ns, blocked", time.off_cpu_state[5].blocked)                              \
    X(uint64_t, offload_ns, "thread-time of the host in target constructs", time.state_ns[6])                          \
    X(uint64_t, offload_preempted_ns, "part of offload_ns, preempted", time.off_cpu_state[6].preempted)                \
    X(uint64_t, offload_blocked_ns, "part of offload_ns, blocked", time.off_cpu_state[6].blocked)

// The last argument of X is the rule that combines the rows of several threads.
#define OMPASS_CONSTRUCT_ROW(X)                                                                                        \
    X(int32_t, construct, "number of the construct", static_cast<int32_t>(to.id), first)                               \
    X(uint32_t, thread, "number of the thread", to.thread, first)                                                      \
    X(uint64_t, n_created, "tasks created by the thread", slot.n_deferred + slot.n_undeferred, sum)                    \
    X(uint64_t, n_completed, "tasks that it completed", slot.n_completed, sum)                                         \
    X(uint64_t, n_cancelled, "tasks discarded before they started", slot.n_cancelled, sum)                             \
    X(uint64_t, n_undeferred, "part of n_created that ran at once", slot.n_undeferred, sum)                            \
    X(uint64_t, work_ns, "own work of the tasks", to.ns(slot.own_ticks), sum)                                          \
    X(uint64_t, create_ns, "time to create them, measured or estimated (Run.create_estimated)",                        \
      to.ns(slot.create_ticks) + to.estimated_ns(slot.n_deferred), sum)                                                \
    X(uint64_t, inclusive_ns, "work, undeferred descendants included; scaled from the timed tasks if sampled",         \
      to.ns(slot.inclusive_ticks), sum)                                                                                \
    X(uint64_t, n_timed, "timed tasks; fewer than n_completed if sampled", slot.n_timed, sum)                          \
    X(uint64_t, min_ns, "shortest timed task; 0: none", to.ns(slot.min_ticks), shortest)                               \
    X(uint64_t, max_ns, "longest timed task", to.ns(slot.max_ticks), longest)                                          \
    X(Numbers<format::kHistogramBins>, histogram,                                                                      \
      "tasks by duration: bin k is [2^k, 2^(k+1)) ns, bin 0 begins at 0; a timed task counts by its weight",           \
      Numbers<format::kHistogramBins>::of(slot.histogram, format::kHistogramBins), sum)                                \
    X(uint64_t, ready_ns, "time from ready to start, summed over the deferred tasks started here",                     \
      to.ns(slot.ready_ticks), sum)                                                                                    \
    X(uint64_t, ready_max_ns, "longest of these times", to.ns(slot.ready_max_ticks), longest)                          \
    X(uint64_t, n_ready, "number of these times", slot.n_ready, sum)                                                   \
    X(uint64_t, n_other_thread, "tasks started here that another thread created", slot.n_other_thread, sum)            \
    X(uint64_t, n_other_core, "tasks that were created on another core", slot.n_other_core, sum)                       \
    X(uint64_t, n_other_domain, "tasks that were created in another memory domain", slot.n_other_domain, sum)          \
    X(uint64_t, read_bytes, "declared by kernels as read", slot.read_bytes, sum)                                       \
    X(uint64_t, write_bytes, "declared by kernels as written", slot.write_bytes, sum)                                  \
    X(Numbers<format::kMaxCounters>, counters, "hardware counters, in the order of Run.counters",                      \
      to.counters(slot.counters), sum)                                                                                 \
    X(uint64_t, preempted_ns, "part of work_ns off-CPU, although the thread could have run",                           \
      to.off_cpu(slot.off_cpu, slot.own_ticks).preempted, sum)                                                         \
    X(uint64_t, blocked_ns, "part of work_ns off-CPU, because the thread left its processor voluntarily",              \
      to.off_cpu(slot.off_cpu, slot.own_ticks).blocked, sum)                                                           \
    X(uint64_t, n_detached, "tasks whose code ended on the thread before their event was fulfilled", slot.n_detached,  \
      sum)                                                                                                             \
    X(uint64_t, n_events_fulfilled, "events of detached tasks that the thread fulfilled", slot.n_events_fulfilled,     \
      sum)                                                                                                             \
    X(uint64_t, n_events_outside, "part of these: the thread is not in the task's team", slot.n_events_outside, sum)   \
    X(uint64_t, event_ns,                                                                                              \
      "from the end of a detached task's code to its event, summed over the events fulfilled here",                    \
      to.ns(slot.event_ticks), sum)                                                                                    \
    X(uint64_t, event_max_ns, "longest of these times", to.ns(slot.event_max_ticks), longest)                          \
    X(uint64_t, mpi_ns, "time of the tasks in MPI calls, not part of work_ns", to.ns(slot.call_ticks[0]), sum)         \
    X(uint64_t, offload_ns, "time of the tasks in target constructs, not part of work_ns", to.ns(slot.call_ticks[1]),  \
      sum)

#define OMPASS_WAIT_ROW(X)                                                                                             \
    X(int32_t, construct, "number of the wait", static_cast<int32_t>(to.id))                                           \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, n_waits, "waits; of a lock: acquisitions; of a dependence: tasks that could not run when created",     \
      slot.n_waits)                                                                                                    \
    X(uint64_t, n_long, "waits whose last gap without a task, or wait for a lock, was longer than 1 us", slot.n_long)  \
    X(uint64_t, schedule_ns, "thread-time spent there on fetching ready tasks", gaps.ns[0])                            \
    X(uint64_t, sync_ns, "thread-time there for other reasons than lack of tasks", gaps.ns[1])                         \
    X(uint64_t, idle_ns, "thread-time there without a task to run", gaps.ns[2])                                        \
    X(uint64_t, inside_ns, "time of the tasks that the thread ran there", gaps.inside_ns)                              \
    X(uint64_t, max_ns, "longest wait, tasks inside included", to.ns(slot.max_ticks))                                  \
    X(uint64_t, delay_ns, "of a dependence: from creation to ready, summed over its tasks", to.ns(slot.delay_ticks))   \
    X(Numbers<format::kWaitedForEntries>, waited_for, "constructs for which it waited; last entry, 0: all others",     \
      waited.ids)                                                                                                      \
    X(Numbers<format::kWaitedForEntries>, waited_for_n, "waits for each of them", waited.n)                            \
    X(Numbers<format::kWaitedForEntries>, waited_for_ns, "time for each of them: last idle gap, or delay", waited.ns)

#define OMPASS_LOOP_ROW(X)                                                                                             \
    X(int32_t, construct, "number of the loop", static_cast<int32_t>(to.id))                                           \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, n_entered, "instances that the thread took part in", slot.n_entered)                                   \
    X(uint64_t, n_led, "instances that it led, or executed alone", slot.n_led)                                         \
    X(uint64_t, n_iterations, "iterations of the instances that it led, by all threads", slot.n_iterations)            \
    X(uint64_t, n_chunks, "chunks that it took; 0: not reported by the runtime", slot.n_chunks)                        \
    X(uint64_t, n_taken, "iterations in these chunks", slot.n_taken)                                                   \
    X(uint64_t, time_ns, "time from start to end, summed over the instances", to.ns(slot.ticks))                       \
    X(uint64_t, max_ns, "longest of these times", to.ns(slot.max_ticks))                                               \
    X(uint64_t, imbalance_ns, "idle at the barrier after the loop, until the last thread arrived",                     \
      to.ns(slot.imbalance_ticks))

#define OMPASS_CALL_ROW(X)                                                                                             \
    X(int32_t, construct, "number of the call", static_cast<int32_t>(to.id))                                           \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, n_calls, "calls, without those inside other MPI calls", slot.n_calls)                                  \
    X(uint64_t, time_ns, "time from start to end, summed over the calls", to.ns(slot.ticks))                           \
    X(uint64_t, max_ns, "longest of these times", to.ns(slot.max_ticks))                                               \
    X(uint64_t, n_in_tasks, "part of n_calls in explicit tasks", slot.n_in_tasks)                                      \
    X(uint64_t, task_ns, "part of time_ns in explicit tasks", to.ns(slot.task_ticks))                                  \
    X(uint64_t, serial_ns, "part of time_ns outside of parallel regions", to.ns(slot.serial_ticks))                    \
    X(uint64_t, unaccounted_ns, "part of time_ns on threads that OpenMP does not know; in no state",                   \
      to.ns(slot.unaccounted_ticks))

#define OMPASS_TARGET_ROW(X)                                                                                           \
    X(int32_t, construct, "number of the target construct", static_cast<int32_t>(to.id))                               \
    X(uint32_t, thread, "number of the host thread", to.thread)                                                        \
    X(uint64_t, n_runs, "executions; of a call that moves data: calls", slot.n_calls)                                  \
    X(uint64_t, time_ns, "time of the host from start to end; the sum of the next three", time.total_ns)               \
    X(uint64_t, transfer_ns, "part in data operations: transfers, allocations, ...", time.transfer_ns)                 \
    X(uint64_t, launch_ns, "part in kernel launches; includes the kernels if the host is the device", time.launch_ns)  \
    X(uint64_t, wait_ns, "the rest: waits for the device, and the runtime's own work", time.wait_ns)                   \
    X(uint64_t, max_ns, "longest execution", to.ns(slot.max_ticks))                                                    \
    X(uint64_t, n_launches, "kernels launched", slot.n_launches)                                                       \
    X(uint64_t, n_to, "transfers to the device", moved.n_to)                                                           \
    X(uint64_t, to_bytes, "bytes of these", moved.to_bytes)                                                            \
    X(uint64_t, to_ns, "host time in these", to.ns(moved.to_ticks))                                                    \
    X(uint64_t, n_from, "transfers from the device", moved.n_from)                                                     \
    X(uint64_t, from_bytes, "bytes of these", moved.from_bytes)                                                        \
    X(uint64_t, n_alloc, "allocations on the device", moved.n_alloc)                                                   \
    X(uint64_t, alloc_bytes, "bytes of these", moved.alloc_bytes)                                                      \
    X(uint64_t, n_repeated, "part of n_to: the same host memory as in an earlier transfer to the device",              \
      slot.n_repeated)                                                                                                 \
    X(uint64_t, repeated_bytes, "bytes of these", slot.repeated_bytes)                                                 \
    X(uint64_t, n_device_kernels, "kernels that the device timed; 0 without device tracing", slot.n_device_kernels)    \
    X(uint64_t, device_kernel_ns, "time of these on the device", slot.device_kernel_ns)                                \
    X(uint64_t, n_device_transfers, "data operations that the device timed", slot.n_device_transfers)                  \
    X(uint64_t, device_transfer_ns, "time of these on the device", slot.device_transfer_ns)                            \
    X(Numbers<format::kTargetOperations>, operations,                                                                  \
      "data operations: OMPT numbers, + 256 to a device, + 512 from it, + 768 between two; last entry, 0: others",     \
      moved.operations)                                                                                                \
    X(Numbers<format::kTargetOperations>, operations_n, "number of each of them", moved.n)                             \
    X(Numbers<format::kTargetOperations>, operations_bytes, "bytes of each of them", moved.bytes)                      \
    X(Numbers<format::kTargetOperations>, operations_ns, "host time of each of them", moved.ns)

OMPASS_STRUCT(ThreadRow, Row, OMPASS_THREAD_ROW);

// total_ns == work_ns + create_ns + schedule_ns + sync_ns + idle_ns + mpi_ns + offload_ns, exactly.
OMPASS_STRUCT(RegionRow, Row, OMPASS_REGION_ROW);
OMPASS_STRUCT(ConstructRow, Row, OMPASS_CONSTRUCT_ROW);
OMPASS_STRUCT(WaitRow, Row, OMPASS_WAIT_ROW);
OMPASS_STRUCT(LoopRow, Row, OMPASS_LOOP_ROW);
OMPASS_STRUCT(CallRow, Row, OMPASS_CALL_ROW);
OMPASS_STRUCT(TargetRow, Row, OMPASS_TARGET_ROW);

// Combines two rows of a construct; `construct` and `thread` come from the first.
ConstructRow operator+(const ConstructRow &one, const ConstructRow &other);

} // namespace ompass
