// SPDX-License-Identifier: Apache-2.0
// What the tool keeps of one thread: what it does now, what it creates, its regions, constructs and kernels, its log.
// Owned and used by that thread alone, but for what is said otherwise. recorder makes these states; accounting moves them.
//
// A parallel region is known under several names; each has one owner:
//   EnteredRegion            a thread's way through one region, on that thread's stack of them; in memory
//   format::RegionInstance   the region itself while it is in flight: its primary writes it, members count themselves in
//                            and raise last_arrival; in process.log
//   format::PendingPart      a worker's gap in a region that it left before the region ended; in its log's header
//   format::RegionSlot       the sums of a thread over all regions of one construct; in its log
//   RegionRow                such a slot in nanoseconds; the reader's
#pragma once

#include <cstddef>
#include <cstdint>

#include "accounting/places.h"
#include "accounting/task_state.h"
#include "format/figures.h"
#include "format/invariants.h"
#include "log/thread_log.h"
#include "omp_ext_tool.h"
#include "perf/off_cpu_intervals.h"
#include "perf/samples.h"
#include "perf/thread_clocks.h"

namespace ompass {

// A task construct as one thread knows it, with its sampling of undeferred tasks.
struct TaskConstruct {
    format::ConstructSlot *slot; // where to count: real_slot, or a spare one during a pause
    format::ConstructSlot *real_slot;
    omp_ext_tally
        light_counters; // its address; and of its light deferred tasks, when the next is timed: 0: none was drawn
    uint32_t id;
    uint32_t period; // one in `period` undeferred tasks is timed, on average; slot->countdown tells when the next is
    uint32_t n_recent; // timed since the period was last considered
    uint32_t n_short; // of these, shorter than kSampleBelowNanoseconds
    uint32_t n_coarse; // deferred tasks shorter than kCoarseBelowNanoseconds less longer ones, within bounds
    bool is_coarse; // they prevail
    format::WaitSlot *dependence; // waits of its tasks for their predecessors; null: none yet
    uint8_t inline_code; // in the trace; kInlineCodes: none is left, ~0: not asked for yet
    uint16_t creator; // index of the thread
    uint16_t weight; // of the light deferred task that is timed next
};

// The task constructs that a thread has met, by address and by id. Entries live until clear().
class ConstructTable {
public:
    // Where their slots are made, and the thread that creates their tasks; before any other call.
    void set_owner(ThreadLog *log, uint16_t index) {
        log_ = log;
        index_ = index;
    }

    // The construct created at this address if it is found at once, else null.
    TaskConstruct *known_at(const void *address) const {
        TaskConstruct *found = by_address_[hash(address) % kAddresses];
        return found != nullptr && found->light_counters.code == address ? found : nullptr;
    }
    // The construct created at this address. Never null.
    TaskConstruct *at(const void *address, uint32_t flags) {
        TaskConstruct *found = known_at(address);
        return found ? found : find_at(address, flags);
    }
    // The construct of this id. Never null.
    TaskConstruct *of(uint32_t id) {
        if (__builtin_expect(id < size_ && by_id_[id] != nullptr, 1)) return by_id_[id];
        return find_of(id, nullptr);
    }
    // From now on counts go to the real slots, or to a place that nobody reads.
    void count(bool really);
    // From now on another library may be at the addresses that are known.
    void forget_addresses();
    void clear();

private:
    static constexpr unsigned kAddresses = 256; // a power of two

    static unsigned hash(const void *address) {
        return static_cast<unsigned>(reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull >> 56);
    }
    TaskConstruct *find_at(const void *address, uint32_t flags);
    TaskConstruct *find_of(uint32_t id, const void *address);

    TaskConstruct *by_address_[kAddresses];
    TaskConstruct **by_id_; // grown on demand
    uint32_t size_; // of by_id_
    bool idle_; // counts go nowhere
    uint16_t index_;
    ThreadLog *log_;
};

// The outermost one stands for "outside of every region".
struct EnteredRegion {
    EnteredRegion *outer;
    uint32_t outer_domain; // HeldTasks::domain of that
    format::RegionSlot *slot;
    format::RegionInstance *instance; // null outside
    TaskState *implicit; // this thread's implicit task, until it ends
    uint64_t begin;
    const void *address; // of the call that began it; null for those that do not lead it
    format::LoopSlot *loop; // the last one that the implicit task left, until the barrier behind it is over,
    uint64_t loop_end; // and when
    uint32_t construct;
    uint32_t level;
    uint32_t n_barriers; // passed or being passed by this thread
    bool primary;
#if OMPASS_ASSERTIONS
    uint64_t accounted_before; // ThreadState::accounted when this thread's part began
#endif
};

// The open state interval of work, as far as undeferred tasks shape it.
struct OpenWork {
    unsigned char dirty; // untimed undeferred tasks ran in it
    bool is_sample; // it is the current task's own, and is a sample
    uint16_t weight; // of the sample
};

// A wrapped creation, while current->creating; and when the next one is timed.
struct Creation {
    uint64_t begin;
    TaskConstruct *construct; // of the creation that was told
    uint32_t weight; // creations for which it stands
    bool reported; // a creation was told of in the open wrapper
    bool left_out; // the creation under way is one of those that sampling does not time
    uint32_t inline_period; // of the last construct created undeferred; 1 after a deferred creation
    uint32_t countdown;
};

// How the extension prepared the next creation that OMPT tells.
struct Announcement {
    enum Kind : uint8_t {
        kNothing, // OMPT tells of creations by itself
        kHeldTask, // it is no creation, but the begin of `task`
        kNoTask, // it is of no task of the program
        kAddress // it is of `address`
    } kind;
    bool is_rescue; // of `task`
    TaskState *task;
    const void *address;
};

// Where the program called the functions that we stand in front of: OMPT names our address.
struct Wrapper {
    bool is_open; // a wrapped creation is under way, here or in a task around the current one
    const void *address; // of the creation being wrapped, until OMPT tells of it
    const void *allocated; // task allocated last, not necessarily created,
    const void *allocated_at; // and from where
    const void *loop_address; // of the taskloop whose tasks are being created,
    const TaskState *loop_task; // by this task
};

// The creation before, when it was of the same task and nothing came between: for the estimate of its cost.
struct PreviousCreation {
    const TaskState *creator;
    uint64_t time;
};

// What the extension tells of the tasks that it holds.
struct HeldTasks {
    uint32_t domain; // 1 + locality domain in which this thread starts tasks; 0: not known,
    uint32_t traced_domain; // and the one that the trace says
    uint64_t steal_begin;
};

// The loops, and other constructs that share work, that the thread is in.
struct Works {
    static constexpr unsigned kMaxDepth = 32;

    unsigned depth;
    struct Open {
        format::LoopSlot *loop;
        const TaskState *task;
        uint64_t begin;
        uint64_t n_chunks, n_taken;
        bool is_shared; // by the team
    } open[kMaxDepth];
};

// The task that this thread completed last: written by it, read by threads that waited for one. The two may be of two
// tasks for a moment.
struct alignas(64) LastEnded {
    static constexpr uint64_t kSequences = ~uint64_t{0} >> format::kConstructBits;

    std::atomic<uint64_t> time;
    std::atomic<uint64_t> what; // sequence of the region's instance << kConstructBits | construct
};

// The kernels that the thread is in, the phase that it began, and the names that it met.
struct Kernels {
    static constexpr unsigned kMaxDepth = 32, kNames = 64;

    unsigned depth;
    struct Open {
        format::ConstructSlot *slot;
        uint32_t construct;
        uint64_t begin;
        format::OffCpuTicks off_cpu; // of the thread, at the begin
        uint64_t counters[format::kMaxCounters];
        bool is_counted; // the counters could be read
    } open[kMaxDepth];
    format::ConstructSlot *phase; // null: none
    struct Name { // of a kernel or phase
        const char *address;
        format::ConstructSlot *slot;
        uint32_t construct;
        char text[44];
    } names[kNames];
};

// Regions of the thread: the innermost one that it is in is ThreadState::region.
struct Regions {
    EnteredRegion outside;
    EnteredRegion *free;
    format::RegionInstance *pending[format::kMaxPendingParts]; // of header->pending
    struct Known {
        const void *address;
        uint32_t construct, end_wait;
    } known[16]; // led before
};

struct alignas(64) ThreadState {
    // What it does now. Every event touches this line,
    format::ThreadHeader *header;
    TaskState *current; // never null
    EnteredRegion *region;
    uint64_t *n_tasks; // of the region
    uint64_t task_counter;
    uint32_t index;
    uint32_t seen_switch; // value of recorder::run_switch that this thread acted on
    bool tracing;
    bool counting;
    bool has_counters; // they were asked for
    bool samples_light; // not all light deferred tasks are timed
    OpenWork work;
    const volatile perf_event_mmap_page *ring; // of off-CPU intervals; see has_off_cpu()

    // and every creation this one.
    Creation creation;
    Announcement announced;
    Wrapper wrapper;
    PreviousCreation previous;
    const volatile perf_event_mmap_page *sample_ring; // see has_samples()
    uint32_t random;
    uint32_t traced_wait; // the construct of waits that the trace told last
    uint64_t exit_ticks; // kExitNanoseconds

    TaskPool pool;
    ThreadLog log;
    ConstructTable constructs;
    PlaceTable places;
    format::WaitSlot *lock; // for which it waits; null: none
    LastEnded last_ended;

    Works works;
    HeldTasks held;
    // For tasks that are kUntimed, and those in them; aimed at the counts of the present region.
    omp_ext_tallies light_counters;
    Regions regions;
    TaskState base_task; // stands for user code that runs in no task that we know of
    Kernels kernels;
    OffCpuIntervals off_cpu;
    ThreadClocks clocks; // in place of them
    int counter_set; // counters::kNone unless has_counters
    Samples samples;
    uint64_t counters[format::kMaxCounters]; // as read last
    format::ThreadKind kind;
#if OMPASS_ASSERTIONS
    uint64_t accounted; // sum of all that was ever added to state_ticks
#endif

    uint64_t inside; // when a loop, kernel or phase was begun or ended last, which ends no state interval

    // The id of the task or region that this thread has made last.
    uint64_t latest_id() const { return static_cast<uint64_t>(index) << format::kThreadShift | task_counter; }
    uint64_t new_id() {
        task_counter++;
        return latest_id();
    }
    format::RegionSlot *region_slot(uint32_t id, format::DefinitionKind kind);
    EnteredRegion *push_region(); // null when memory is exhausted
    void pop_region();
    // A library has been unloaded: forgets which constructs are at which addresses.
    void forget_addresses();
};

inline void aim_light_counters(ThreadState &thread) {
    format::RegionSlot &slot = *thread.region->slot;
    const uint32_t domain = thread.held.domain - 1;
    thread.light_counters.n_created = &slot.n_created;
    thread.light_counters.n_ended = thread.n_tasks;
    thread.light_counters.n_ended_at_home =
        &slot.n_from_domain[domain < format::kDomainCounts ? domain : format::kDomainCounts - 1];
}

// Is its team of one thread?
inline bool is_alone(const ThreadState &thread) {
    const EnteredRegion &region = *thread.region;
    return region.primary && region.instance && region.instance->team_size == 1;
}

// The hot lines; see ThreadState.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(ThreadState, creation) == 64, "what every event touches is one cache line");
static_assert(offsetof(ThreadState, wrapper.address) == 128, "what every creation touches is the next one");
#pragma GCC diagnostic pop

} // namespace ompass
