// SPDX-License-Identifier: Apache-2.0
// The figures of a run, each declared once: the slots that a thread keeps in its log, in ticks, and the rows that readers
// make of them, in nanoseconds. Bindings, the type stub, columns of SQL and documents come from the lists below.
//
// A new figure goes to the end of its slot, where logs written before have 0.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>

#include "describe.h"
#include "format.h"

namespace ompass::format {

// What one thread knows of one task construct or kernel.
struct ConstructSlot {
    uint32_t id; // construct, 0 in an unused slot
    DefinitionKind kind;
    uint64_t n_deferred; // created and queued
    uint64_t n_undeferred; // created and started at once; 0 in a log, where begun_undeferred() tells it
    uint64_t n_completed; // in a log: of the deferred tasks; undeferred ones complete when they have begun
    uint64_t n_drawn; // undeferred tasks up to the last one that was timed; with the next two fields: all of them
    uint32_t weight; // tasks from that one to the next timed one, that one included
    uint32_t countdown; // of these, yet to begin
    uint64_t n_converted; // undeferred tasks that did not complete in place (detached), and count like deferred ones
    uint64_t n_cancelled;
    uint64_t create_ticks; // measured by the brackets
    uint64_t create_weight; // share of pool_ticks that is creation of these tasks; part of the region's
    uint64_t own_ticks; // work that surely belongs to this construct; of phases, in a log: their ends less their begins
    uint64_t sampled_weight; // its share of pool_ticks, against the sum over constructs
    uint64_t inclusive_ticks; // of the timed tasks
    uint64_t n_timed;
    uint64_t min_ticks; // of the timed tasks; ~0 when none
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
    uint64_t histogram[kHistogramBins]; // of timed durations, bin k: [2^k, 2^(k+1)) ns
    OffCpuTicks off_cpu; // of own_ticks
};
static_assert(sizeof(ConstructSlot) <= kSlotBytes);

constexpr uint64_t begun_undeferred(const ConstructSlot &slot) { return slot.n_drawn + slot.weight - slot.countdown; }

inline constexpr unsigned kDomainCounts = 48;

// What one thread knows of one parallel construct; slot 0: of the time outside of every region.
struct RegionSlot {
    uint32_t id; // construct; slot 0 has kind kProgram
    DefinitionKind kind;
    uint64_t n_instances;
    uint64_t n_primary;
    uint64_t wall_ticks; // primary only
    uint64_t capacity_ticks; // primary only: team size times duration
    uint64_t max_team_size; // primary only
    uint64_t level;
    uint64_t nested_ticks; // in inner regions led by this thread
    uint64_t state_ticks[kStates];
    uint64_t implicit_ticks; // part of work
    uint64_t lock_ticks; // part of sync
    uint64_t n_tasks; // explicit tasks completed here
    uint64_t n_created; // deferred tasks created here
    uint64_t create_weight; // share of the creation of undeferred tasks in pool_ticks
    uint64_t sampled_weight; // share of the implicit task in pool_ticks
    uint64_t counters[kMaxCounters]; // of the implicit task
    // Of tasks that libomp_ext.so holds.
    uint64_t domain; // 1 + the locality domain of this thread, when it last started a task; 0: none
    uint64_t n_rescued; // tasks started here outside their domain, lest the program hang
    uint64_t n_steals; // tasks taken from another thread's queue
    uint64_t n_failed_steals; // attempts at queues with tasks that took none
    uint64_t steal_ticks; // of the former
    uint64_t failed_steal_ticks;
    uint64_t n_from_domain
        [kDomainCounts]; // tasks started here by the domain where they were placed; the last: and all beyond
    OffCpuTicks off_cpu[kStates]; // of state_ticks
    OffCpuTicks off_cpu_implicit; // of implicit_ticks
    OffCpuTicks off_cpu_anywhere; // of all state_ticks, where CpuSource::kClocks does not tell in which
};
static_assert(sizeof(RegionSlot) <= kSlotBytes);

// For which constructs threads waited. The last entry is of all others together.
inline constexpr unsigned kWaitedForEntries = 8;
struct WaitedFor {
    uint64_t construct; // 0: a free entry, and that of the others
    uint64_t n;
    uint64_t ticks;
};

// What one thread knows of one wait.
struct WaitSlot {
    uint32_t id; // construct, 0 in an unused slot
    DefinitionKind kind;
    uint64_t n_waits;
    uint64_t n_long;
    uint64_t ticks; // from begin to end of the waits that ended, tasks that ran inside included
    uint64_t gap_ticks[3]; // in which the thread ran nothing: schedule, sync, idle
    uint64_t max_ticks; // of the waits that ended
    uint64_t delay_ticks; // of dependences: from creation to ready
    WaitedFor waited_for[kWaitedForEntries];
};
static_assert(sizeof(WaitSlot) <= kSlotBytes);

constexpr uint64_t &gap_ticks(WaitSlot &slot, State state) {
    return slot.gap_ticks[static_cast<size_t>(state) - static_cast<size_t>(State::kSchedule)];
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

// What one thread knows of one loop, or of another construct that shares work.
struct LoopSlot {
    uint32_t id; // construct, 0 in an unused slot
    DefinitionKind kind;
    uint64_t n_entered;
    uint64_t n_led; // as the primary of the team, or where every thread is on its own
    uint64_t n_iterations; // of the instances that it led, by all threads
    uint64_t n_chunks; // that it took
    uint64_t n_taken; // iterations in them
    uint64_t ticks;
    uint64_t max_ticks; // of one instance
    uint64_t imbalance_ticks; // idle at the barrier behind it, until the last thread came
};
static_assert(sizeof(LoopSlot) <= kSlotBytes);

} // namespace ompass::format

namespace ompass {

// X(type, name, meaning, value): `value` is made of the slot `slot`, or of the header of the thread's log, by `to`,
// which converts ticks (see run_profile.cpp).
#define OMPASS_THREAD_ROW(X)                                                                                           \
    X(uint32_t, thread, "number of its log", to.thread)                                                                \
    X(uint32_t, tid, "number in the operating system", header.tid)                                                     \
    X(std::string, kind, "initial, worker, helper or other", name_of(header.kind))                                     \
    X(uint64_t, first_ns, "first moment recorded, since the start of the run",                                         \
      to.clock.since_start(header.first_ticks))                                                                        \
    X(uint64_t, last_ns, "last moment accounted", to.clock.since_start(account.last))                                  \
    X(uint64_t, n_events, "records of its trace; 0 in the profile, which does not read them", account.n_events)        \
    X(uint64_t, n_dropped, "records of its trace that could not be written", header.n_dropped)                         \
    X(uint64_t, n_migrations, "changes of CPU that were seen", header.n_migrations)                                    \
    X(std::string, cpu_source,                                                                                         \
      "where preempted and blocked times come from: switches (the kernel's records), clocks (of the thread; no state " \
      "is known), or empty: not known, and 0",                                                                         \
      name_of(account.cpu_source))                                                                                     \
    X(uint64_t, n_lost_switches, "records of switches lost, so that which of both is in part a guess",                 \
      header.n_lost_switches)                                                                                          \
    X(uint64_t, by_clock_ns,                                                                                           \
      "time in which its clock took the place of records of switches, since they came too thick",                      \
      to.ns(header.clock_ticks))                                                                                       \
    X(uint64_t, unaccounted_preempted_ns, "preempted between regions, and outside of all that is accounted",           \
      to.ns(header.outside.preempted))                                                                                 \
    X(uint64_t, unaccounted_blocked_ns, "blocked there", to.ns(header.outside.blocked))                                \
    X(uint64_t, ended_ns, "when the thread ended; 0: not before the recording", ended_ns(to, header))

#define OMPASS_REGION_ROW(X)                                                                                           \
    X(int32_t, construct, "number of the parallel construct; -1: outside of every region",                             \
      to.id ? static_cast<int32_t>(to.id) : -1)                                                                        \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, level, "nesting depth of its first instance, 1 is outermost; 0 outside of every region", slot.level)   \
    X(uint64_t, n_instances, "instances that the thread took part in", slot.n_instances)                               \
    X(uint64_t, n_primary, "instances that it led", slot.n_primary)                                                    \
    X(uint64_t, wall_ns, "durations of the instances that it led", to.ns(slot.wall_ticks))                             \
    X(uint64_t, capacity_ns, "sum over the instances that it led of team size times duration", 0)                      \
    X(uint64_t, max_team_size, "most threads of an instance that it led", slot.max_team_size)                          \
    X(uint64_t, total_ns, "its thread-time, without inner regions that it led; the sum of the five states",            \
      time.total_ns)                                                                                                   \
    X(uint64_t, nested_ns, "its time in inner regions that it led", to.ns(slot.nested_ticks))                          \
    X(uint64_t, work_ns, "thread-time in user code", time.state_ns[0])                                                 \
    X(uint64_t, create_ns, "thread-time in the creation of tasks", time.state_ns[1])                                   \
    X(uint64_t, schedule_ns, "thread-time in fetching tasks that were ready", time.state_ns[2])                        \
    X(uint64_t, sync_ns, "thread-time in barriers, waits and locks for another reason than lack of tasks",             \
      time.state_ns[3])                                                                                                \
    X(uint64_t, idle_ns, "thread-time without a task to run", time.state_ns[4])                                        \
    X(uint64_t, implicit_ns, "part of work_ns in the implicit task itself",                                            \
      std::min(to.ns(slot.implicit_ticks), time.state_ns[0]))                                                          \
    X(uint64_t, lock_ns, "part of sync_ns in locks, critical, ordered and atomic", to.ns(slot.lock_ticks))             \
    X(uint64_t, n_tasks, "explicit tasks that the thread completed there", slot.n_tasks)                               \
    X(int64_t, domain, "locality domain of libomp_ext.so where it started tasks last; -1: none was held",              \
      static_cast<int64_t>(slot.domain - 1))                                                                           \
    X(uint64_t, n_rescued, "tasks started outside of their domain, since the program would have hung", slot.n_rescued) \
    X(uint64_t, n_steals, "tasks taken from queues of other threads", slot.n_steals)                                   \
    X(uint64_t, n_failed_steals, "attempts at queues with tasks that took none", slot.n_failed_steals)                 \
    X(uint64_t, steal_ns, "time of the successful attempts", to.ns(slot.steal_ticks))                                  \
    X(uint64_t, failed_steal_ns, "time of the failed attempts", to.ns(slot.failed_steal_ticks))                        \
    X(Numbers<format::kDomainCounts>, n_from_domain,                                                                   \
      "tasks started here by the domain where they were placed; the last: and all beyond",                             \
      Numbers<format::kDomainCounts>::of(slot.n_from_domain, format::kDomainCounts))                                   \
    X(Numbers<format::kMaxCounters>, counters, "hardware counters of the implicit task, in the order of Run.counters", \
      to.counters(slot.counters))                                                                                      \
    X(uint64_t, preempted_ns, "part of total_ns on no processor, although the thread could have run",                  \
      time.off_cpu.preempted)                                                                                          \
    X(uint64_t, blocked_ns, "part of total_ns on no processor, since the thread had left it by itself",                \
      time.off_cpu.blocked)                                                                                            \
    X(uint64_t, work_preempted_ns, "part of work_ns, preempted", time.off_cpu_work.preempted)                          \
    X(uint64_t, work_blocked_ns, "part of work_ns, blocked", time.off_cpu_work.blocked)

// The last entry says how rows of several threads make one.
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
    X(uint64_t, inclusive_ns, "work with that of undeferred descendants; scaled from the timed tasks when sampled",    \
      to.ns(slot.inclusive_ticks), sum)                                                                                \
    X(uint64_t, n_timed, "tasks with a duration of their own; fewer than n_completed when sampled", slot.n_timed, sum) \
    X(uint64_t, min_ns, "shortest of these durations, 0 without any", to.ns(slot.min_ticks), shortest)                 \
    X(uint64_t, max_ns, "longest of them", to.ns(slot.max_ticks), longest)                                             \
    X(Numbers<format::kHistogramBins>, histogram,                                                                      \
      "tasks by duration: bin k is [2^k, 2^(k+1)) ns, bin 0 begins at 0; a timed task counts for those it stands for", \
      Numbers<format::kHistogramBins>::of(slot.histogram, format::kHistogramBins), sum)                                \
    X(uint64_t, ready_ns, "sum over deferred tasks started here of the time from ready to start",                      \
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
    X(uint64_t, preempted_ns, "part of work_ns on no processor, although the thread could have run",                   \
      to.off_cpu(slot.off_cpu, slot.own_ticks).preempted, sum)                                                         \
    X(uint64_t, blocked_ns, "part of work_ns on no processor, since the thread had left it by itself",                 \
      to.off_cpu(slot.off_cpu, slot.own_ticks).blocked, sum)

#define OMPASS_WAIT_ROW(X)                                                                                             \
    X(int32_t, construct, "number of the wait", static_cast<int32_t>(to.id))                                           \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, n_waits, "waits; of a lock: acquisitions; of a dependence: tasks that could not run when created",     \
      slot.n_waits)                                                                                                    \
    X(uint64_t, n_long, "of these, those that waited for more than 1 us in the end", slot.n_long)                      \
    X(uint64_t, schedule_ns, "thread-time there in fetching tasks that were ready", gaps.ns[0])                        \
    X(uint64_t, sync_ns, "thread-time there for another reason than lack of tasks", gaps.ns[1])                        \
    X(uint64_t, idle_ns, "thread-time there without a task to run", gaps.ns[2])                                        \
    X(uint64_t, inside_ns, "time of the tasks that the thread ran there", gaps.inside_ns)                              \
    X(uint64_t, max_ns, "longest wait, tasks inside included", to.ns(slot.max_ticks))                                  \
    X(uint64_t, delay_ns, "of a dependence: from creation to ready, summed over its tasks", to.ns(slot.delay_ticks))   \
    X(Numbers<format::kWaitedForEntries>, waited_for, "constructs for which it waited; 0, in the end: all others",     \
      waited.ids)                                                                                                      \
    X(Numbers<format::kWaitedForEntries>, waited_for_n, "how often, for each of them", waited.n)                       \
    X(Numbers<format::kWaitedForEntries>, waited_for_ns, "how long, for each of them: idle until the end, or delay",   \
      waited.ns)

#define OMPASS_LOOP_ROW(X)                                                                                             \
    X(int32_t, construct, "number of the loop", static_cast<int32_t>(to.id))                                           \
    X(uint32_t, thread, "number of the thread", to.thread)                                                             \
    X(uint64_t, n_entered, "instances that the thread took part in", slot.n_entered)                                   \
    X(uint64_t, n_led, "instances that it led, or executed alone", slot.n_led)                                         \
    X(uint64_t, n_iterations, "iterations of the instances that it led, by all threads", slot.n_iterations)            \
    X(uint64_t, n_chunks, "chunks that it took; 0 where the runtime does not tell", slot.n_chunks)                     \
    X(uint64_t, n_taken, "iterations in them", slot.n_taken)                                                           \
    X(uint64_t, time_ns, "time in it, from begin to end", to.ns(slot.ticks))                                           \
    X(uint64_t, max_ns, "longest of these times", to.ns(slot.max_ticks))                                               \
    X(uint64_t, imbalance_ns, "idle at the barrier behind it, until the last thread came", to.ns(slot.imbalance_ticks))

OMPASS_STRUCT(ThreadRow, Row, OMPASS_THREAD_ROW);

// total_ns == work_ns + create_ns + schedule_ns + sync_ns + idle_ns, exactly.
OMPASS_STRUCT(RegionRow, Row, OMPASS_REGION_ROW);
OMPASS_STRUCT(ConstructRow, Row, OMPASS_CONSTRUCT_ROW);
OMPASS_STRUCT(WaitRow, Row, OMPASS_WAIT_ROW);
OMPASS_STRUCT(LoopRow, Row, OMPASS_LOOP_ROW);

// Two rows of a construct as one; `construct` and `thread` are those of the first.
ConstructRow operator+(const ConstructRow &one, const ConstructRow &other);

} // namespace ompass
