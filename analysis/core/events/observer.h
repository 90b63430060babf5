// SPDX-License-Identifier: Apache-2.0
// The events that walker.h reports, and the words in which it reports them. An observer derives from WalkObserver and
// hides the functions of those events that it needs; nothing is virtual. It may keep data of its own with every frame,
// part and thread. All times are ticks. An observer and its walks belong to one thread of control.
#pragma once

#include "trace_index.h"

namespace ompass {

// What a thread does between two events.
enum class Activity : uint8_t {
    kUnknown, // outside of every region, in no code that we know of
    kWork, // runs the current task
    kWait, // is in a wait of the current task, and runs nothing
    kFork // is between the begin or end of a region and its implicit task
};

// A task on a thread's stack, an array from the bottom up.
template <typename Data>
struct TaskFrame {
    enum Kind : uint8_t { kOutside, kImplicit, kDeferred, kUndeferred };
    uint64_t id = 0; // 0: undeferred, or outside of every task
    uint32_t construct = 0; // 0: implicit, or outside
    Kind kind = kOutside;
    bool timed = false; // undeferred: begin and end have a time
    bool waiting = false; // is in a wait,
    uint32_t wait_kind = 0; // of this OMPT sync region kind, unless that is not known (0),
    uint32_t wait_place = 0; // at this construct, likewise,
    uint64_t wait_begin = 0; // since then; a wait that goes on elsewhere is a new one
    bool resumed = false; // began elsewhere
    bool rescued = false; // runs outside of its home, since the program would have hung
    int32_t home = -1; // domain in which the locality extension placed it; -1: without it
    uint64_t ready = 0, start = 0; // 0: without times, or it began elsewhere
    uint64_t worked = 0; // on this thread so far, with undeferred ones in it; of those: of the owner, at their begin
    uint32_t to_owner = 0; // places down to it
    Data data{};

    // Itself; of an undeferred task the innermost one around it that is none.
    TaskFrame &owner() { return this[-ptrdiff_t{to_owner}]; }
    const TaskFrame &owner() const { return this[-ptrdiff_t{to_owner}]; }
    TaskFrame &below() { return this[-1]; } // not of the lowest

    // Of an undeferred task, where it is timed: in it so far.
    uint64_t worked_inside() const { return kind == kUndeferred ? owner().worked - worked : worked; }
    uint64_t explicit_id() const { return owner().construct ? owner().id : 0; } // 0 in implicit tasks and outside
};

// A thread's part in a region, in an array from the outermost on.
template <typename Data>
struct RegionPart {
    uint64_t id = 0; // 0: outside of every region
    uint32_t construct = 0, level = 0, team_size = 1;
    uint32_t n_barriers = 0; // that the thread has come to
    bool primary = false;
    uint64_t begin = 0;
    Data data{};

    const RegionPart &outer() const { return this[-1]; } // of one that is in a region
};

struct OpenKernel {
    uint32_t construct;
    uint64_t begin, read_bytes = 0, write_bytes = 0;
    format::AbsentTicks off_cpu = {};
};

// A loop, or another construct that shares work.
struct OpenWork {
    uint32_t construct;
    uint64_t begin;
};

// The gap at the end of a wait, or before a task that waited for another; or the wait for a lock.
struct LastGap {
    uint64_t until_arrival; // of the last thread, at barriers
    uint64_t idle; // in all
    bool is_long; // longer than it takes to leave
};

// What must have happened on other threads before an event, for those who take all threads in order of time.
struct Precondition {
    enum Kind : uint8_t { kNone, kCreated, kStartable, kDetached, kChildrenEnded, kBarrierOver, kRegionBegun } kind;
    uint64_t id = 0; // of the task or region
};

// The thread was on no processor.
struct OffCpuInterval {
    uint64_t begin, end;
    bool blocked; // else preempted
    bool guessed; // when, and which of both
};

struct NoData {};

// Hears of everything and does nothing. `walk` stands at the event, frames and parts are those before it ends, or after
// it begins them.
struct WalkObserver {
    using FrameData = NoData;
    using PartData = NoData;
    using ThreadData = NoData;

    // What the walk must know of other threads and of the end; 0 and empty when not known.
    uint64_t created_at(uint64_t /*task*/) const { return 0; }
    const RecordedRegion &region(uint64_t /*id*/) const { return kUnknownRegion; }
    uint64_t end_of_run() const { return 0; }

    void began_thread(auto & /*walk*/) {} // before its first event
    void ended_thread(auto & /*walk*/) {} // what is open is on the walk's stacks; its time has been told

    // A stretch of the thread, in order; its end lies before its begin where a clock was read tens of ns early. One of
    // creation stands for `weight` creations, and belongs to no construct yet: creation_cost() tells. A task starts or
    // goes on right after a stretch of scheduling.
    // walk.off_cpu() tells for how much of it the thread was on no processor.
    void state_interval(auto & /*walk*/, format::State, uint64_t /*begin*/, uint64_t /*end*/, uint32_t /*weight*/) {}
    // Before the stretches in which it lies.
    void off_cpu(auto & /*walk*/, const OffCpuInterval &) {}

    // A deferred task; walk.date_creation() says when. Its start, on whichever thread, and its end come later.
    void created(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/) {}
    // `task` 0: an undeferred one, which begins next. `weight`: the number of creations that this one stands for.
    void creation_cost(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/, uint64_t /*ticks*/,
                       uint32_t /*weight*/) {}
    void depends(auto & /*walk*/, uint64_t /*before*/, uint64_t /*after*/) {}
    void began_undeferred(auto & /*walk*/, auto & /*frame*/) {}
    void ended_undeferred(auto & /*walk*/, auto & /*frame*/) {}
    // `after_others`: it depended on tasks. `moved`: to another core or domain, format::kOtherCore | kOtherDomain.
    void started(auto & /*walk*/, auto & /*frame*/, bool /*after_others*/, uint64_t /*moved*/) {}
    void suspended(auto & /*walk*/, auto & /*frame*/) {}
    // `here`: the thread itself was in it before.
    void resumed(auto & /*walk*/, auto & /*frame*/, bool /*here*/) {}
    void completed(auto & /*walk*/, auto & /*frame*/, bool /*detached*/) {}
    void discarded(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/) {}
    void fulfilled(auto & /*walk*/, uint64_t /*task*/, uint32_t /*construct*/) {}
    void stole(auto & /*walk*/, uint64_t /*ticks*/, bool /*succeeded*/) {}

    // Waits of the current task, by OMPT sync region kind.
    void began_wait(auto & /*walk*/, uint32_t /*kind*/) {}
    void ended_wait(auto & /*walk*/, uint32_t /*kind*/) {}
    // Waits from here on are at this place. In a team of one nothing else tells of a wait after tasks that ran at once.
    void named_wait(auto & /*walk*/, uint32_t /*construct*/) {}
    void asked_for_lock(auto & /*walk*/, uint32_t /*kind*/) {}
    void got_lock(auto & /*walk*/, uint32_t /*kind*/, uint64_t /*asked*/) {}

    void began_region(auto & /*walk*/, auto & /*part*/) {}
    void joined_region(auto & /*walk*/, auto & /*part*/) {}
    void ended_region(auto & /*walk*/, auto & /*part*/, uint32_t /*team_size*/) {}
    void began_implicit(auto & /*walk*/, auto & /*frame*/) {}
    // Of a worker the time of its end is that of the region's.
    void ended_implicit(auto & /*walk*/, auto & /*frame*/, bool /*worker*/) {}

    // The constructs that a team, or a task, shares; they cut no stretch.
    void began_work(auto & /*walk*/, const OpenWork &, uint64_t /*n_iterations*/) {}
    void ended_work(auto & /*walk*/, const OpenWork &, uint64_t /*n_chunks*/, uint64_t /*n_taken*/) {}

    void began_kernel(auto & /*walk*/, const OpenKernel &) {}
    void ended_kernel(auto & /*walk*/, const OpenKernel &, uint32_t /*construct*/) {}
    void accessed(auto & /*walk*/, const OpenKernel &, uint64_t /*address*/, uint64_t /*bytes*/, bool /*write*/) {}
    void began_phase(auto & /*walk*/, uint32_t /*construct*/) {}
    void counted(auto & /*walk*/, uint32_t /*counter*/, uint64_t /*rise*/) {}
    void seen_on_cpu(auto & /*walk*/, uint32_t /*cpu*/) {}
    void recording_resumed(auto & /*walk*/) {}
};

// An observer of one thread after the other, which knows of the others what a first pass has found.
struct IndexedObserver : WalkObserver {
    explicit IndexedObserver(const TraceIndex &known) : index(known) {}
    uint64_t created_at(uint64_t task) const { return index.created_at(task); }
    const RecordedRegion &region(uint64_t id) const { return region_in(index.regions, id); }
    uint64_t end_of_run() const { return index.end; }

    const TraceIndex &index;
};

} // namespace ompass
