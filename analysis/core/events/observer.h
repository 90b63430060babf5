// SPDX-License-Identifier: Apache-2.0
// The events that walker.h reports. An observer derives from WalkObserver and redefines the functions of the events
// that it needs; none is virtual. An observer may keep its own data in each frame, part and thread. All times are
// ticks. Use an observer and its walks on one thread.
#pragma once

#include "trace_index.h"

namespace ompass {

// The activity of a thread between two events.
enum class Activity : uint8_t {
    kUnknown, // outside every region, or not recorded
    kWork, // runs the current task
    kWait, // waits in the current task, and runs nothing
    kFork, // is between the start or end of a region and its implicit task, or waits for a lock
    kCall // is in an MPI call or a target construct
};

// A task on the stack of a thread. The stack is an array; the lowest frame is the first.
template <typename Data>
struct TaskFrame {
    enum Kind : uint8_t { kOutside, kImplicit, kDeferred, kUndeferred };
    uint64_t id = 0; // 0: undeferred, or outside every task
    uint32_t construct = 0; // 0: implicit, or outside
    Kind kind = kOutside;
    bool timed = false; // undeferred: the trace has the times of begin and end
    bool waiting = false; // true in a wait
    uint32_t wait_kind = 0; // OMPT sync region kind; 0: unknown
    uint32_t wait_place = 0; // construct of the wait; 0: unknown
    uint64_t wait_begin = 0; // start of the wait; a wait that continues on another thread counts as new
    bool resumed = false; // true if the task began in an earlier frame, usually on another thread
    bool rescued = false; // runs outside its home because the program would have hung
    int32_t home = -1; // domain in which the extension placed it; -1: unknown
    uint64_t ready = 0, start = 0; // 0: not timed, or `resumed`
    uint64_t worked = 0; // undeferred: owner().worked at its start; else: work so far, including undeferred tasks
    uint32_t to_owner = 0; // distance to owner()
    Data data{};

    // Returns the task itself or, for an undeferred task, the innermost task of another kind around it.
    TaskFrame &owner() { return this[-ptrdiff_t{to_owner}]; }
    const TaskFrame &owner() const { return this[-ptrdiff_t{to_owner}]; }
    TaskFrame &below() { return this[-1]; } // not for the lowest frame

    // Returns the work inside the task so far. An undeferred task must be timed.
    uint64_t worked_inside() const { return kind == kUndeferred ? owner().worked - worked : worked; }
    uint64_t explicit_id() const { return owner().construct ? owner().id : 0; } // 0 in implicit tasks and outside
};

// A thread's part in a region. The parts of a thread are an array; the outermost part is the first.
template <typename Data>
struct RegionPart {
    uint64_t id = 0; // 0: outside every region
    uint32_t construct = 0, level = 0, team_size = 1;
    uint32_t n_requested = 0; // threads that the program asked for; 0: unknown, or the thread is not the primary
    uint32_t n_barriers = 0; // barriers that the thread has reached
    bool primary = false;
    uint64_t begin = 0;
    Data data{};

    const RegionPart &outer() const { return this[-1]; } // only if id != 0
};

struct OpenKernel {
    uint32_t construct;
    uint64_t begin, read_bytes = 0, write_bytes = 0;
    format::OffCpuTicks off_cpu = {};
};

// An open loop, or another open construct that shares work.
struct OpenLoop {
    uint32_t construct;
    uint64_t begin;
};

// An open MPI call or target construct.
struct OpenCall {
    uint32_t construct = 0; // 0: none
    bool is_accounted = false; // true if the call interrupted work; only then is its time accounted
    uint64_t begin = 0;
};

// A step of a target construct.
struct CallStepRecord {
    uint32_t construct;
    uint64_t begin;
    uint64_t word; // see format::pack_call_step()
};

// The last gap in a thread's work: a wait for a lock, the end of a wait, or the time before a task that depended on
// another.
struct GapAtEnd {
    uint64_t until_arrival; // barriers: ticks until the last thread arrived
    uint64_t idle; // ticks in total
    bool is_long; // longer than a thread takes to leave a wait
};

// An event of another thread that must precede the current event of a walk. ordered_walk.h waits for it.
struct Precondition {
    enum Kind : uint8_t { kNone, kCreated, kStartable, kDetached, kChildrenEnded, kBarrierOver, kRegionBegun } kind;
    uint64_t id = 0; // id of the task or region
};

struct OffCpuInterval {
    uint64_t begin, end;
    bool blocked; // false: preempted
    bool guessed; // true if its times and `blocked` are estimates
};

struct NoData {};

// Ignores every event. `walk` is at the event. Frames and parts that the event ends still exist during the call; frames
// and parts that it begins already exist.
struct WalkObserver {
    using FrameData = NoData;
    using PartData = NoData;
    using ThreadData = NoData;

    // Information that the walk needs about other threads and the end of the run; 0 or empty if unknown.
    uint64_t created_at(uint64_t /*task*/) const { return 0; }
    const RecordedRegion &region(uint64_t /*id*/) const { return kUnknownRegion; }
    uint64_t end_of_run() const { return 0; }

    void began_thread(auto & /*walk*/) {} // called before its first event
    // Called if the trace lacks its first part. The walk has the stacks of the checkpoint, and its first event follows.
    void continued(auto & /*walk*/, const Checkpoint &) {}
    void ended_thread(auto & /*walk*/) {} // the walk's stacks still hold the open tasks, kernels and regions

    // The intervals of a thread come in order. An interval ends before it begins if a clock was read tens of ns early.
    // An interval of creation represents `weight` creations; creation_cost() reports its construct. A task starts or
    // resumes right after an interval of scheduling. walk.off_cpu() returns the off-CPU time in the interval.
    void state_interval(auto & /*walk*/, format::State, uint64_t /*begin*/, uint64_t /*end*/, uint32_t /*weight*/) {}
    // Called before the state intervals that contain the off-CPU interval.
    void off_cpu(auto & /*walk*/, const OffCpuInterval &) {}

    // The creation of a deferred task; walk.date_creation() returns its time. The task starts later, on any thread.
    void created(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/) {}
    // task 0: an undeferred task, which has just begun. weight: the number of creations that this one represents.
    void creation_cost(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/, uint64_t /*ticks*/,
                       uint32_t /*weight*/) {}
    void depends(auto & /*walk*/, uint64_t /*before*/, uint64_t /*after*/) {}
    // A depend clause of the task that the thread created last; type: an OMPT dependence type. depends() reports only
    // dependences on tasks that were incomplete, and none in a team of one.
    void depends_on(auto & /*walk*/, uint64_t /*address*/, uint32_t /*type*/) {}
    // The priority, greater than 0, of the task that the thread created last; if is_of_next, of the undeferred task
    // that begins next.
    void has_priority(auto & /*walk*/, uint64_t /*priority*/, bool /*is_of_next*/) {}
    void began_undeferred(auto & /*walk*/, auto & /*frame*/) {}
    void ended_undeferred(auto & /*walk*/, auto & /*frame*/) {}
    // after_others: true if the task had dependences. moved: format::kOtherCore | kOtherDomain, compared with its
    // creation.
    void started(auto & /*walk*/, auto & /*frame*/, bool /*after_others*/, uint64_t /*moved*/) {}
    void suspended(auto & /*walk*/, auto & /*frame*/) {}
    // here: true if the task was still on the stack of this thread.
    void resumed(auto & /*walk*/, auto & /*frame*/, bool /*here*/) {}
    void completed(auto & /*walk*/, auto & /*frame*/, bool /*detached*/) {}
    void discarded(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/) {}
    // The event of a detached task is fulfilled. ticks: time since the task's code ended; 0 in old traces. outside:
    // true if no thread of its team fulfilled it.
    void fulfilled(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/, uint64_t /*ticks*/, bool /*outside*/) {}
    void stole(auto & /*walk*/, uint64_t /*ticks*/, bool /*succeeded*/) {}

    // Waits of the current task; kind: OMPT sync region kind.
    void began_wait(auto & /*walk*/, uint32_t /*kind*/) {}
    void ended_wait(auto & /*walk*/, uint32_t /*kind*/) {}
    // The next waits are at this construct. In a team of one, this is the only event of a wait after undeferred tasks.
    void named_wait(auto & /*walk*/, uint32_t /*construct*/) {}
    void asked_for_lock(auto & /*walk*/, uint32_t /*kind*/) {}
    // walk.lock() returns the number of the lock.
    void got_lock(auto & /*walk*/, uint32_t /*kind*/, uint64_t /*asked*/) {}
    void released_lock(auto & /*walk*/, uint32_t /*lock*/) {} // does not end a state interval

    void began_region(auto & /*walk*/, auto & /*part*/) {}
    void joined_region(auto & /*walk*/, auto & /*part*/) {}
    void ended_region(auto & /*walk*/, auto & /*part*/, uint32_t /*team_size*/) {}
    void began_implicit(auto & /*walk*/, auto & /*frame*/) {}
    // The implicit task of a worker ends at the end of the region.
    void ended_implicit(auto & /*walk*/, auto & /*frame*/, bool /*worker*/) {}

    // Loops and other constructs that share work. They do not end a state interval.
    void began_loop(auto & /*walk*/, const OpenLoop &, uint64_t /*n_iterations*/) {}
    void ended_loop(auto & /*walk*/, const OpenLoop &, uint64_t /*n_chunks*/, uint64_t /*n_taken*/) {}

    // MPI calls and target constructs; walk.call() returns the open one.
    void began_call(auto & /*walk*/, const OpenCall &) {}
    void ended_call(auto & /*walk*/, const OpenCall &) {}
    // A step of a target construct, reported at its end. A step that a device timed may come later, on any thread.
    void took_call_step(auto & /*walk*/, const CallStepRecord &) {}

    // The messages of the open MPI call, reported before it ends.
    void took_message(auto & /*walk*/, const format::Message &) {}
    // is_new: true if this is the request of the last message, which is nonblocking; false if the call completes the
    // request.
    void took_request(auto & /*walk*/, uint64_t /*request*/, bool /*is_new*/) {}

    void began_kernel(auto & /*walk*/, const OpenKernel &) {}
    void ended_kernel(auto & /*walk*/, const OpenKernel &, uint32_t /*construct*/) {}
    void accessed(auto & /*walk*/, const OpenKernel &, uint64_t /*address*/, uint64_t /*bytes*/, bool /*write*/) {}
    void began_phase(auto & /*walk*/, uint32_t /*construct*/) {}
    void counted(auto & /*walk*/, uint32_t /*counter*/, uint64_t /*rise*/) {}
    void seen_on_cpu(auto & /*walk*/, uint32_t /*cpu*/) {}
    void used_system(auto & /*walk*/, const format::SystemUse &) {}
    void recording_resumed(auto & /*walk*/) {}
};

// Observes one thread after another, and takes information about other threads from the index of a first pass.
struct IndexedObserver : WalkObserver {
    explicit IndexedObserver(const TraceIndex &known) : index(known) {}
    uint64_t created_at(uint64_t task) const { return index.created_at(task); }
    const RecordedRegion &region(uint64_t id) const { return region_in(index.regions, id); }
    uint64_t end_of_run() const { return index.end; }

    const TraceIndex &index;
};

} // namespace ompass
