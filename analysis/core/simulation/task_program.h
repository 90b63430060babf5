// SPDX-License-Identifier: Apache-2.0
// The input of a simulation: the operations of every task of a recorded run, one after the other. Times are nanoseconds
// on the recorded machine. Except for kBlocked and kDetached, the input has no times of waiting, queueing and stealing,
// because the simulation determines them.
//
//   tasks[0] is the program outside every region; a task's creator has a lower index than the task
//   the operations of a task end with kEnd
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/run_files.h"

namespace ompass::simulation {

enum class OpKind : uint8_t {
    kEnd, // the task completes
    kWork, // runs its own code for value() ns, attributed to construct()
    kCreate, // creates task(); this creation took cost() ns in the recorded run
    kTaskwait, // waits for its children, at construct() (0: unknown)
    kGroupEnd, // waits for all descendants
    kBarrier, // waits for its team and all tasks of the region
    // Waits value() ns at construct() (0: unknown) for a lock without a number or an earlier iteration. If construct()
    // is kInCall, the time is an MPI call or a target construct instead.
    kBlocked,
    kRegion, // runs the parallel region value()
    kAccess, // makes the access value() of TaskProgram::accesses, in a kernel
    kKernelBegin, // begins the kernel construct()
    kKernelEnd,
    kLoopBegin, // begins its part of the worksharing loop construct(), of value() iterations (0: unknown)
    kLoopEnd, // ends its part after value() chunks (0: unknown)
    kOffCpu, // works for value() ns in which the recorded thread was off-CPU; attributed to construct()
    kLock, // acquires the lock value() if construct() is kAcquire, releases it if kRelease
    kDetached, // only before kEnd: an event completes the task value() ns after its end
};
inline constexpr uint32_t kRelease = 0, kAcquire = 1; // of a kLock
inline constexpr uint32_t kInCall = 0xffff; // of a kBlocked; no construct has this number

// One word. A creation: kind:4 | cost:28 | task:32. Any other operation: kind:4 | construct:16 | value:44.
struct Operation {
    static constexpr uint64_t kMaxValue = (uint64_t{1} << 44) - 1;
    static constexpr uint64_t kMaxCost = (uint64_t{1} << 28) - 1;
    uint64_t word = 0;

    // Larger values become kMaxValue.
    static Operation of(OpKind kind, uint64_t value = 0, uint32_t construct = 0) {
        return {static_cast<uint64_t>(kind) | uint64_t{construct & 0xffff} << 4 |
                (value < kMaxValue ? value : kMaxValue) << 20};
    }
    static Operation create(uint32_t task, uint64_t cost_ns) {
        return {static_cast<uint64_t>(OpKind::kCreate) | (cost_ns < kMaxCost ? cost_ns : kMaxCost) << 4 |
                uint64_t{task} << 32};
    }
    OpKind kind() const { return static_cast<OpKind>(word & 15); }
    uint32_t construct() const { return static_cast<uint32_t>(word >> 4) & 0xffff; }
    uint64_t value() const { return word >> 20; }
    bool is_work() const { return kind() == OpKind::kWork || kind() == OpKind::kOffCpu; }
    bool is_wait() const { return kind() == OpKind::kTaskwait || kind() == OpKind::kGroupEnd; }
    bool is_call() const { return kind() == OpKind::kBlocked && construct() == kInCall; }
    // True except for creations, waits, barriers, regions, kEnd and kDetached.
    bool is_own() const {
        switch (kind()) {
        case OpKind::kDetached:
        case OpKind::kEnd:
        case OpKind::kCreate:
        case OpKind::kTaskwait:
        case OpKind::kGroupEnd:
        case OpKind::kBarrier:
        case OpKind::kRegion: return false;
        default: return true;
        }
    }
    uint32_t task() const { return static_cast<uint32_t>(word >> 32); }
    uint32_t cost() const { return static_cast<uint32_t>(word >> 4) & kMaxCost; }
};

struct ProgramTask {
    static constexpr uint8_t kMostPriority = 255; // for changes of the program; recorded priorities are lower
    enum Flag : uint8_t {
        kInline = 1, // undeferred: runs at once inside its creator
        kUntied = 2, // may run on any thread, on top of any wait
        kGrouped = 4, // has a kGroupEnd
        kImplicit = 8, // implicit task of a region
        kSerialised = 32, // ran at once in a team of one, and is simulated as a deferred task
        kDependent = 64, // ran at once in a team of one and has depend clauses, which cost more in a larger team
        kReplayed = 128, // a replay of a task graph starts it, without a creation
    };
    uint32_t first_op = 0;
    uint32_t creator = 0;
    uint16_t construct = 0; // number in TaskProgram::constructs
    uint16_t depth = 0; // levels of creation between the task and its region
    int16_t home = -1; // domain in which the extension placed it; -1: none
    uint8_t flags = 0;
    uint8_t priority = 0; // higher first; recorded ones ascend from 1 as in TaskProgram::priorities
};
static_assert(sizeof(ProgramTask) == 16);

struct ProgramRegion {
    uint16_t construct = 0;
    uint32_t team_size = 0; // in the recorded run
    std::vector<uint32_t> implicit; // implicit tasks, by thread
};

// An access that a kernel declared. TaskProgram::accesses has the order of the recorded run.
struct DataAccess {
    uint64_t address = 0, bytes = 0; // bytes > 0
    uint32_t thread = 0; // in the recorded run
    bool write = false;
};

struct Dependence {
    uint32_t before, after; // tasks
    auto operator<=>(const Dependence &) const = default;
};

// Sorts the dependences, and keeps one of each.
inline void sort_dependences(std::vector<Dependence> &dependences) {
    std::ranges::sort(dependences);
    const auto [first, end] = std::ranges::unique(dependences);
    dependences.erase(first, end);
}

struct TaskProgram {
    std::vector<Operation> operations;
    std::vector<ProgramTask> tasks;
    std::vector<ProgramRegion> regions;
    std::vector<Dependence> dependences; // sorted, each once
    std::vector<DataAccess> accesses;
    std::vector<uint32_t> constructs; // the run's number of each construct; constructs[0] is the program
    uint64_t wall_ns = 0; // duration of the recorded run
    uint64_t regions_ns = 0; // part of wall_ns in parallel regions
    uint64_t other_regions_ns = 0; // part of regions_ns in regions that threads other than the first began
    uint32_t n_threads = 1; // size of the largest recorded team
    uint32_t n_domains = 0; // domains in which tasks were placed
    uint64_t n_deferred = 0;
    std::map<uint16_t, uint32_t> loop_kinds; // OMPT's kinds of work, by construct of the worksharing loop
    std::map<uint16_t, uint64_t> taskloop_iterations; // iterations of all taskloops, by construct of their tasks
    std::vector<uint64_t> priorities; // the values of priority clauses, sorted, each once
    // Where the simulation makes assumptions because the trace lacks information:
    uint64_t n_nested = 0; // implicit tasks of nested regions, which one thread runs one after the other
    uint64_t n_dependent_waits = 0; // `taskwait depend`, simulated as a taskwait
    uint64_t n_detached = 0; // detached tasks
    uint64_t n_unfulfilled = 0; // part of n_detached without an event in the trace; assumed to complete at their end
    uint32_t n_locks = 0; // locks have the numbers 0 to n_locks - 1
    std::vector<uint16_t> lock_places; // construct at which each lock is acquired most often; 0: unknown
    std::vector<uint64_t> lock_handoffs; // by lock: mean ns from a release to the acquisition by a waiting thread
    uint64_t n_out_of_order = 0; // events whose cause the trace lacks
    uint64_t n_serialised = 0; // tasks of a team of one, which ran at once and are simulated as deferred tasks
    uint64_t n_unknown_dependences = 0; // tasks of a team of one, if the format of the trace lacks depend clauses
    uint64_t n_dependent_alone = 0; // tasks with the flag kDependent
    uint64_t n_supposed_waits = 0; // tasks of a team of one that are assumed to wait for their children
    uint64_t blocked_ns = 0; // waits for locks without numbers and for earlier iterations, which the simulation repeats
    uint64_t called_ns = 0; // in MPI calls and target constructs
    uint64_t off_cpu_ns = 0; // blocked time, part of the work
    uint64_t own_ns = 0; // work of implicit tasks outside of worksharing; other teams may divide or repeat it
    uint64_t sections_ns = 0; // work in sections, which keep their recorded threads
    uint64_t detached_ns = 0; // sum of value() of all kDetached
    uint64_t preempted_ns = 0; // time off the processor because of preemption, left out of the work
    // Facts that the trace lacks, from other files of the run and of the program:
    uint64_t system_ns = 0; // time in the kernel in regions, mostly part of the work; 0 if unknown
    bool asks_for_threads = false; // the program's files call functions that return numbers of threads or processors
    uint64_t locking_ns = 0; // work of constructs, recorded on one thread, whose code takes locks of the C library
    uint64_t copied_bytes = 0; // total size of the large copies that creations made, if recorded on one thread
    uint64_t allocator_ns = 0; // work in the memory allocator by samples, if recorded on one thread

    uint64_t work_ns() const;
    uint64_t longest_hold_ns() const; // work under the lock that tasks hold longest, in total
    // Work of the longest task of each small group, in total. A group is the tasks that an implicit task creates until
    // it waits. The group is small if it has at most two tasks per recorded thread, and none of them creates tasks.
    uint64_t few_tasks_ns() const;
};

// Reads a whole trace. Fails on a damaged trace, with file and byte, and on a run without a trace.
// Memory: 16 bytes per task, 8 per operation (three to five per task), and 4 more per task while it reads.
Problem extract_program(const RunFiles &run, TaskProgram &program);

// Returns a description of an error in the program, or "". Errors are an index out of range, a task that is created
// twice or never, a region inside a task, and a dependence on a later task.
std::string check_program(const TaskProgram &program);

} // namespace ompass::simulation
