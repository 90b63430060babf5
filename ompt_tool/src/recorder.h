// SPDX-License-Identifier: Apache-2.0
// The recording of the process: when it begins and ends, where it goes, and the state of each thread in it.
// Owns process-wide switches and the making of threads; accounting.h owns what an event does to a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "clock.h"
#include "format/figures.h"
#include "options.h"
#include "task_state.h"
#include "thread_log.h"

namespace ompass {

// A task construct as one thread knows it, with its sampling of undeferred tasks.
struct TaskConstruct {
    format::ConstructSlot *slot;  // where to count: real_slot, or a spare one during a pause
    format::ConstructSlot *real_slot;
    const void *address;
    uint32_t id;
    uint32_t period; // one in `period` undeferred tasks is timed, on average; slot->countdown tells when the next is
    uint32_t n_recent; // timed since the period was last considered
    uint32_t n_short; // of these, shorter than kSampleBelowNanoseconds
    uint32_t n_coarse; // deferred tasks shorter than kCoarseBelowNanoseconds less longer ones, within bounds
    bool is_coarse; // they prevail
    uint8_t inline_code; // in the trace; kInlineCodes: none is left, ~0: not asked for yet
};

// A parallel region that a thread is in. The outermost context stands for "outside of every region".
struct RegionContext {
    RegionContext *outer;
    format::RegionSlot *slot;
    format::RegionInstance *instance; // null outside
    TaskState *implicit; // this thread's implicit task, until it ends
    uint64_t begin;
    uint32_t construct;
    uint32_t level;
    uint32_t n_barriers; // passed or being passed by this thread
    bool primary;
};

inline constexpr unsigned kMaxKernelDepth = 32;
inline constexpr unsigned kKnownNames = 64;
inline constexpr unsigned kAddressTable = 256; // entries, a power of two

struct ThreadState {
    // Hot: touched by every event.
    format::ThreadHeader *header;
    TaskState *current; // never null
    RegionContext *region;
    uint64_t task_counter;
    uint32_t index;
    uint32_t seen_switch; // value of recorder::run_switch that this thread acted on
    bool tracing;
    bool counting;
    bool dirty; // untimed undeferred tasks ran in the open stretch
    bool sample_pending; // the open stretch is the current task's own, and is a sample
    uint32_t sample_weight;
    uint64_t *n_tasks; // of the region
    int counter_set; // of PAPI; counters::kNone unless counters were asked for

    // Creation: hot too.
    const TaskState *last_creator; // with last_create: for the estimate of the cost of a creation
    uint64_t last_create;
    uint64_t create_begin; // of the bracketed creation, while current->creating
    bool create_event; // a creation was told of in the open bracket
    TaskConstruct *create_construct;
    uint32_t create_weight;
    bool in_bracket; // a bracketed creation is under way, here or in a task around the current one
    enum Announced : uint8_t {
        kNothing, // OMPT tells of creations by itself
        kHeldTask, // the next one is no creation, but the begin of announced_task
        kNoTask, // the next one is of no task of the program
        kAddress // the next one is of announced_address
    } announced; // by the extension
    TaskState *announced_task;
    const void *announced_address;
    uint32_t domain; // 1 + locality domain of the extension in which this thread starts tasks; 0: not known,
    uint32_t traced_domain; // and the one that the trace says
    bool is_rescue; // of announced_task
    uint64_t steal_begin;
    const void *bracket_address; // of the creation being bracketed, until OMPT tells of it
    const void *allocated; // task allocated last, not necessarily created,
    const void *allocated_at; // and from where
    const void *loop_address; // of the taskloop whose tasks are being created,
    const TaskState *loop_task; // by this task
    uint32_t inline_period; // of the last construct created undeferred; 1 after a deferred creation
    uint32_t bracket_countdown;
    uint32_t random;

    TaskPool pool;
    ThreadLog log;

    // Kernels.
    alignas(64) unsigned n_kernels;
    struct OpenKernel {
        format::ConstructSlot *slot;
        uint32_t construct;
        uint64_t begin;
        uint64_t counters[format::kMaxCounters];
    } kernels[kMaxKernelDepth];
    struct KnownName { // of a kernel or phase, as this thread met it
        const char *address;
        format::ConstructSlot *slot;
        uint32_t construct;
        char text[44];
    } known_names[kKnownNames];

    // Counters, when asked for, as read last.
    uint64_t counters[format::kMaxCounters];

    RegionContext outside;
    RegionContext *free_contexts;
    format::RegionInstance *pending_instances[format::kMaxPendingParts]; // of header->pending
    TaskState base_task; // stands for user code that runs in no task that we know of
    TaskConstruct *by_address[kAddressTable];
    TaskConstruct **by_id; // grown on demand
    uint32_t by_id_size;
    format::ThreadKind kind;

    // The construct created at this address if this thread met it before and it is found at once, else null.
    TaskConstruct *known_construct_at(const void *address) const {
        TaskConstruct *found =
            by_address[(reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull >> 56) % kAddressTable];
        return found != nullptr && found->address == address ? found : nullptr;
    }
    // The construct created at this address. Never null.
    TaskConstruct *construct_at(const void *address, uint32_t flags) {
        const auto hash = reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull >> 56;
        TaskConstruct *found = known_construct_at(address);
        return found ? found : find_construct_at(address, flags, static_cast<unsigned>(hash));
    }
    TaskConstruct *construct_of(uint32_t id) {
        if (__builtin_expect(id < by_id_size && by_id[id] != nullptr, 1)) return by_id[id];
        return find_construct_of(id, nullptr);
    }
    format::RegionSlot *region_slot(uint32_t id, format::DefinitionKind kind);

    RegionContext *push_region();
    void pop_region();

private:
    TaskConstruct *find_construct_at(const void *address, uint32_t flags, unsigned hash);
    TaskConstruct *find_construct_of(uint32_t id, const void *address);
};

namespace recorder {

enum Switch : uint32_t { kOff = 0, kOn = 1, kPaused = 2 };

// Read by every event; written by start, pause, resume and stop.
extern std::atomic<uint32_t> run_switch;
extern constinit thread_local ThreadState *this_thread __attribute__((tls_model("initial-exec")));

// Begins recording unless it began before or is switched off; true when recording. Thread-safe.
bool start(const char *runtime_version);
void stop(format::EndReason reason);
void pause();
void resume();
void flush(); // renews what is only written now and then

const Options &options();
const std::string &directory();
inline constexpr uint32_t kMaxThreads = 1u << 16;
extern ThreadState *threads[kMaxThreads]; // by index; written before the thread's first task exists
inline ThreadState *thread_of_index(uint32_t index) { return threads[index]; }

// The calling thread's state, made at the first call. Null when not recording.
ThreadState *make_thread(format::ThreadKind kind);
// While nothing is recorded: null, but in the child of a fork begins its own run.
ThreadState *thread_while_off(format::ThreadKind kind);
// The thread ends: its log is complete, and its address space given back, unless a region still holds it.
void end_thread(ThreadState &thread);
void sync_switch(ThreadState &thread); // acts on a changed run_switch

bool may_grow(uint64_t bytes); // may a trace grow by so much?
void stop_all_tracing(uint32_t why);

// The thread when events are to be recorded, else null. The first line of every callback. `begins`: the event is worth a
// run of its own in the child of a fork.
inline ThreadState *thread(format::ThreadKind kind = format::ThreadKind::kOther, bool begins = false) {
    ThreadState *state = this_thread;
    const uint32_t now = run_switch.load(std::memory_order_relaxed);
    if (__builtin_expect(state != nullptr && state->seen_switch == now, 1)) return state;
    if (now == kOff) return begins ? thread_while_off(kind) : nullptr;
    if (state == nullptr) return make_thread(kind);
    sync_switch(*state);
    return state;
}

} // namespace recorder
} // namespace ompass
