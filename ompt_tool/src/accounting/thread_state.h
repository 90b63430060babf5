// SPDX-License-Identifier: Apache-2.0
// The state of one thread: its current task and creation, its regions, constructs and kernels, and its log.
// recorder.cpp makes these states, and the files in accounting/ change them.
//
// Types that describe a parallel region:
//   EnteredRegion            a region that a thread is in, on that thread's stack; in memory
//   format::RegionInstance   the region itself while it is open; its primary makes the entry, and all threads of the
//                            team update it; in process.log
//   format::PendingPart      a worker's last gap in a region that ended after the worker left; in the header of its log
//   format::RegionSlot       the sums of a thread over all regions of one construct; in its log
//   RegionRow                a RegionSlot in nanoseconds; made by the reader
#pragma once

#include <cstddef>
#include <cstdint>

#include "accounting/first_part.h"
#include "accounting/parts.h"
#include "accounting/places.h"
#include "accounting/task_state.h"
#include "format/invariants.h"
#include "format/statistics.h"
#include "log/instance_pool.h"
#include "log/thread_log.h"
#include "omp_ext_tool.h"
#include "perf/off_cpu_intervals.h"
#include "perf/samples.h"
#include "perf/system_use.h"
#include "perf/thread_clocks.h"

namespace ompass {

// A task construct as one thread knows it, with the choice of the undeferred tasks that are timed.
struct TaskConstruct {
    format::ConstructSlot *slot; // receives the counts: real_slot, or a spare slot during a pause
    format::ConstructSlot *real_slot;
    omp_ext_counter light_counters; // the construct's address; the extension counts its light tasks here
    uint32_t id;
    uint32_t period; // one in `period` undeferred tasks is timed, on average; slot->countdown counts down to the next
    uint32_t n_recent; // tasks timed since the period was last adjusted
    uint32_t n_short; // tasks among them shorter than kSampleBelowNanoseconds
    uint32_t n_coarse; // deferred tasks below kCoarseBelowNanoseconds, minus longer ones; clamped
    bool is_coarse; // most deferred tasks are so short that creations in them need no clock reading of their own
    format::WaitSlot *dependence; // waits of its tasks for their predecessors; null: none yet
    uint8_t n_empty_parts; // untied tasks in a row whose first part did nothing; clamped (see FirstPart)
    uint8_t inline_code; // code in the trace; kInlineCodes: no code is left, ~0: not requested yet
    uint16_t creator; // index of the thread
    uint16_t weight; // weight of the light deferred task that is timed next
};

// The task constructs that a thread has met, by address and by id. Entries live until clear().
class ConstructTable {
public:
    // Sets the log in which slots are made, and the thread that creates the tasks. Call this function first.
    void set_owner(ThreadLog *log, uint16_t index) {
        log_ = log;
        index_ = index;
    }

    // Returns the construct of the tasks created at this address if the first probe finds it, else null.
    TaskConstruct *known_at(const void *address) const {
        TaskConstruct *found = by_address_[hash(address) % kAddresses];
        return found != nullptr && found->light_counters.code == address ? found : nullptr;
    }
    // Returns the construct of the tasks created at this address. Never null.
    TaskConstruct *at(const void *address, uint32_t flags) {
        TaskConstruct *found = known_at(address);
        return found ? found : find_at(address, flags);
    }
    // Returns the construct of this id. Never null.
    TaskConstruct *of(uint32_t id) {
        if (__builtin_expect(id < size_ && by_id_[id] != nullptr, 1)) return by_id_[id];
        return find_of(id, nullptr);
    }
    // Directs counts to the real slots, or to a slot that is never read.
    void count(bool really);
    // Forgets all addresses, because another library may be mapped there now.
    void forget_addresses();
    void clear();

private:
    static constexpr unsigned kAddresses = 256; // a power of two

    static unsigned hash(const void *address) {
        return static_cast<unsigned>(reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull >> 56);
    }
    TaskConstruct *find_at(const void *address, uint32_t flags);
    TaskConstruct *find_of(uint32_t id, const void *address);
    TaskConstruct *make(uint32_t id); // null if memory is exhausted
    void set_up(TaskConstruct &construct, uint32_t id, format::ConstructSlot *slot);

    TaskConstruct *by_address_[kAddresses];
    TaskConstruct **by_id_; // grown on demand
    uint32_t size_; // entries of by_id_
    bool discards_; // true: counts go to unread_
    uint16_t index_;
    ThreadLog *log_;
    format::ConstructSlot unread_; // counts during a pause
    TaskConstruct unknown_; // all constructs for which there is no memory; counts in unread_
};

// A region that the thread is in. The outermost one represents the time outside of all regions.
struct EnteredRegion {
    EnteredRegion *outer;
    uint32_t outer_domain; // HeldTasks::domain in the outer region
    format::RegionSlot *slot;
    format::RegionInstance *instance; // null outside of regions
    TaskState *implicit; // this thread's implicit task, until it ends
    uint64_t begin;
    const void *address; // return address of the call that began the region; null unless this thread leads it
    format::LoopSlot *loop; // the last loop that the implicit task left, until the next barrier ends
    uint64_t loop_end; // time at which the task left the loop
    uint64_t loop_ticks; // its time in the loop
    uint64_t last_barrier_end; // time at which the barrier at the region's end ended for the primary; 0: not yet
    uint32_t construct;
    uint32_t level;
    uint32_t n_requested; // threads that the program asked for; 0 unless this thread leads the region
    uint32_t n_barriers; // barriers that this thread has reached
    bool primary;
    bool is_league; // a teams construct, or the part of a thread that leads one of its teams
    bool is_teams_code; // libomp runs the code of a teams construct in a region of its own
#if OMPASS_ASSERTIONS
    uint64_t accounted_before; // ThreadState::accounted when this thread's part began
#endif
};

// The open interval of work: the tasks that share it, and the tasks that it represents.
struct OpenWork {
    unsigned char dirty; // untimed tasks ran in the open interval
    bool is_timed; // the open interval belongs to the current task alone and represents `weight` tasks
    uint16_t weight; // tasks that the timed task represents
};

// The wrapped creation under way (valid if current->creating), and the choice of the creations that are timed.
struct Creation {
    uint64_t begin;
    TaskConstruct *construct; // construct of the reported creation
    uint32_t weight; // number of creations that this one represents
    bool reported; // OMPT or the extension reported a creation inside the open wrapper
    bool left_out; // the creation under way is not timed
    uint32_t inline_period; // TaskConstruct::period of the last undeferred creation; 1 after a deferred one
    uint32_t countdown; // creations until the next timed one
};

// The extension's announcement of the event that the next creation callback of OMPT reports.
struct Announcement {
    enum Kind : uint8_t {
        kNothing, // no announcement: OMPT reports a creation of the program
        kHeldTask, // OMPT reports the start of `task`
        kNoTask, // OMPT reports a task that the program did not create
        kAddress // OMPT reports a creation whose return address is `address`
    } kind;
    bool is_rescue; // true if `task` was rescued
    TaskState *task;
    const void *address;
};

// Return addresses of the program's calls to our wrappers. OMPT itself reports addresses in the wrappers.
struct Wrapper {
    bool is_open; // a wrapped creation is under way, in the current task or in one below it
    const void *address; // return address of the wrapped creation, until it is reported
    const void *allocated; // the task allocated last, not necessarily created
    const void *allocated_at; // return address of its allocation
    const void *prioritised; // the task allocated last with a priority clause
    uint32_t priority; // of the creation under way; 0: none
    const void *loop_address; // return address of the taskloop under way
    const TaskState *loop_task; // the task that creates the taskloop's tasks
};

// The last creation that read the clock. The cost of a creation is at most the time to the same task's next creation.
struct PreviousCreation {
    const TaskState *creator; // null: another event followed
    uint64_t time;
};

// The extension's reports on this thread and on held tasks.
struct HeldTasks {
    uint32_t domain; // 1 + locality domain in which this thread starts tasks; 0: not known
    uint32_t traced_domain; // value of `domain` in the last kDomain record
    uint64_t steal_begin;
};

// The open worksharing constructs (loops and others) of the thread.
struct OpenLoops {
    struct Open {
        format::LoopSlot *loop;
        const TaskState *task;
        uint64_t begin;
        uint64_t n_chunks, n_taken;
        bool is_shared; // true if the team shares it
    };

    void push(const Open &opened); // ignores the construct if memory is exhausted
    void clear();

    unsigned depth, capacity;
    Open *open; // grown on demand
};

// The MPI call or target construct that the thread is in (library_calls.h).
struct LibraryCall {
    format::CallSlot *slot; // null: none
    format::State state; // state of the thread in it
    bool is_accounted; // false: the call began outside of the accounted time
    bool in_task; // in an explicit task
    bool is_serial; // outside of parallel regions
    bool is_traced; // the trace records the call
    bool is_unwatched; // pause_watch() has been called
    uint64_t begin;
    uint64_t leave_word; // word 1 of the record of its end
    const void *frame; // the caller's stack pointer
};

// Further state of the target construct that the thread is in (LibraryCall).
struct OpenTarget {
    uint64_t step_begin; // start of the data operation or launch
    uint32_t device; // as in the flags of the construct
    uint32_t n_inner; // open target constructs inside it, which are not counted
    uint32_t n_kernels; // kernels of a host plugin that the thread is in; the tool records no events in them
    uint32_t seen_switch; // EventState::seen_switch before the outermost kernel
    bool is_data_call; // a call that moves data, outside of constructs
};

// Consecutive calls of a function by which a task polls (UnreportedCall::count).
struct Polling {
    const void *address; // return address of the calls; null: none
    const TaskState *task;
    uint64_t begin, end; // start of the first call, end of the last one
    uint64_t mark, time; // header->mark and the log's time after the last call; unchanged if no event followed
    format::WaitSlot *wait; // counts the calls; null while their total time is short
};

// The task that this thread completed last. Threads that waited for a task read it; the two fields may briefly belong
// to different tasks.
struct alignas(64) LastEnded {
    static constexpr uint64_t kSequences = ~uint64_t{0} >> format::kConstructBits;

    std::atomic<uint64_t> time;
    std::atomic<uint64_t> what; // sequence of the region's instance << kConstructBits | construct
};

// The kernels that the thread is in, the phase that it began, and the names that it has used.
struct Kernels {
    static constexpr unsigned kMaxDepth = 32, kNames = 64;

    unsigned depth, n_too_deep; // open kernels that are recorded, and those inside of them that are not
    struct Open {
        format::ConstructSlot *slot;
        uint32_t construct;
        uint64_t begin;
        format::OffCpuTicks off_cpu; // off-CPU time of the thread when the kernel began
        uint64_t counters[format::kMaxCounters];
        bool is_counted; // the counters could be read
    } open[kMaxDepth];
    struct Named {
        uint32_t construct;
        format::ConstructSlot *slot; // null: none
    } phase, marked_phase; // the recorded phase, and the last one that the program marked; they differ only in a pause
    struct Name { // name of a kernel or phase
        const char *address;
        format::ConstructSlot *slot;
        uint32_t construct;
        char text[44];
    } names[kNames];
};

// Regions of the thread. ThreadState::region is the innermost one.
struct Regions {
    EnteredRegion outside;
    EnteredRegion *free;
    InstancePool instances; // of the regions that the thread leads
    format::RegionInstance *pending[format::kMaxPendingParts]; // instances of header->pending
    struct Known {
        const void *address;
        uint32_t construct, end_wait;
    } known[16]; // regions that the thread has led
};

// Written by the owner at every event or creation. When recording ends, another thread reads it in stop().
struct EventState {
    // The cache line of all events.
    format::ThreadHeader *header;
    TaskState *current; // never null
    EnteredRegion *region;
    uint64_t *n_tasks; // count of ended tasks in the slot of `region`
    uint64_t task_counter;
    uint32_t index;
    uint32_t seen_switch; // last value of recorder::run_switch that this thread has handled
    bool tracing;
    bool counting;
    bool has_counters; // hardware counters are recorded
    bool times_light; // only some light deferred tasks are timed
    OpenWork work;
    const volatile perf_event_mmap_page *ring; // see has_off_cpu()

    // The cache line of creations, then fields that creations use less often.
    Creation creation;
    Announcement announced;
    Wrapper wrapper;
    PreviousCreation previous;
    const volatile perf_event_mmap_page *sample_ring; // see has_samples()
    uint32_t random;
    uint32_t traced_wait; // construct of the last recorded place of waits (trace_place)
    uint64_t exit_ticks; // kExitNanoseconds in ticks
};

// Other threads return tasks to the pool and read last_ended at any time. When recording ends, another thread completes
// the other fields in stop().
struct SharedState {
    TaskPool pool;
    ThreadLog log;
    LastEnded last_ended;
    OffCpuIntervals off_cpu;
    ThreadClocks clocks; // used if the kernel refuses the records for off_cpu
    Samples samples;
};

// Used by the owner only, with two exceptions: the extension may report a counted task on another thread, which then
// reads `creator` and `light_counters.code` of the task's construct; stop() reads the states of all threads.
struct OwnState {
    ConstructTable constructs;
    PlaceTable places;
    format::WaitSlot *lock; // the wait for a lock under way; null: none
    const TaskState *in_unreported_call; // the task in an UnreportedCall; null: none
    LibraryCall call;
    OpenTarget target;
    Polling polling;
    OpenLoops loops;
    HeldTasks held;
    FirstPart first_part;
    omp_ext_counters light_counters; // the extension counts kUntimed tasks and the tasks in them here
    Regions regions;
    PartTable parts; // those on the stack
    TaskState base_task; // user code outside of all tasks
    Kernels kernels;
    int counter_set; // counters::kNone unless has_counters
    uint64_t counters[format::kMaxCounters]; // last readings
    SystemUseReader system_use;
    format::ThreadKind kind;
#if OMPASS_ASSERTIONS
    uint64_t accounted; // sum of all ticks added to state_ticks
#endif
    // Time of the last event that ended no state interval: start or end of a loop, kernel or phase, event of a detached
    // task, release of a lock.
    uint64_t last_inner_event;
};

struct alignas(64) ThreadState : EventState, SharedState, OwnState {
    // Returns the last id that this thread has given to a task or region.
    uint64_t latest_id() const { return static_cast<uint64_t>(index) << format::kThreadShift | task_counter; }
    uint64_t new_id() {
        task_counter++;
        return latest_id();
    }
    format::RegionSlot *region_slot(uint32_t id, format::DefinitionKind kind);
    bool reserve_region(); // makes memory for the next push_region(); false if memory is exhausted
    EnteredRegion *push_region();
    void pop_region();
    // Forgets the addresses of all constructs, because a library has been unloaded.
    void forget_addresses();
};

// Directs the extension's counts to the slots of the thread's current region.
inline void aim_light_counters(ThreadState &thread) {
    format::RegionSlot &slot = *thread.region->slot;
    const uint32_t domain = thread.held.domain - 1;
    thread.light_counters.n_created = &slot.n_created;
    thread.light_counters.n_ended = thread.n_tasks;
    thread.light_counters.n_ended_at_home =
        &slot.n_from_domain[domain < format::kDomainCounts ? domain : format::kDomainCounts - 1];
}

// True if the thread is alone in its team.
inline bool is_alone(const ThreadState &thread) {
    const EnteredRegion &region = *thread.region;
    return region.primary && region.instance && region.instance->team_size == 1;
}

// The two cache lines of EventState.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(ThreadState, creation) == 64, "every event touches one cache line");
static_assert(offsetof(ThreadState, wrapper.address) == 128, "every creation touches the next cache line");
#pragma GCC diagnostic pop

} // namespace ompass
