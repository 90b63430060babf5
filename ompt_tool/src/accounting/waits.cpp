// SPDX-License-Identifier: Apache-2.0
// The events of waits and locks.
#include "accounting/waits.h"

#include <utility>

#include "accounting/calls.h"
#include "accounting/loops.h"
#include "log/process_log.h"

namespace ompass {

namespace {

// Returns the latest arrival so far at the barrier that this thread reached last.
uint64_t last_arrival(const EnteredRegion &region) {
    return __atomic_load_n(&region.instance->last_arrival[(region.n_barriers - 1) & 1], __ATOMIC_ACQUIRE);
}

void note_waited_for(format::RegionInstance &instance, uint32_t n_barriers, uint32_t construct) {
    __atomic_store_n(&instance.waited_for[(n_barriers - 1) & 1], static_cast<uint64_t>(n_barriers) << 32 | construct,
                     __ATOMIC_RELAXED);
}

// True for the kinds of barriers that OMPT reports at the end of a loop. gcc's explicit barriers have one of these
// kinds, too.
bool may_end_loop(uint32_t kind) {
    return kind == format::kImplementationBarrier || kind == format::kWorksharingBarrier ||
           kind == format::kImplicitBarrier;
}

// Returns the wait at this barrier. At a region's end, the runtime reports no address on workers, and the address of
// the region on the primary. At the end of a loop, it reports no address in gcc programs, and an address in the runtime
// if the region ends with the loop.
format::WaitSlot &barrier_wait(ThreadState &thread, uint32_t kind, const void *address) {
    const EnteredRegion &region = *thread.region;
    if (!region.instance) return thread.places.wait(address, kind);
    const bool is_known = address && !is_in_runtime(address), ends = address ? address == region.address : true;
    if (!is_known && region.loop && may_end_loop(kind) && (address || kind == format::kImplementationBarrier))
        return thread.places.wait(process_log::at(region.loop->id), kind);
    if (ends) return thread.places.wait_of(region.instance->end_wait);
    return thread.places.wait(place_of_call(thread, address), kind);
}

void arrive(ThreadState &thread, uint64_t now) {
    EnteredRegion &region = *thread.region;
    thread.header->barrier_begin = now;
    if (region.loop && !format::belongs_to_loop(now - region.loop_end, region.loop_ticks,
                                                clock::from_ns(format::kAfterLoopNanoseconds)))
        region.loop = nullptr;
    thread.header->open_loop = region.loop ? region.loop->id : 0;
    if (!region.instance) return;
    uint64_t *arrival = &region.instance->last_arrival[region.n_barriers++ & 1];
    thread.header->open_barrier = region.n_barriers;
    uint64_t known = __atomic_load_n(arrival, __ATOMIC_RELAXED);
    while (now > known &&
           !__atomic_compare_exchange_n(arrival, &known, now, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    if (now > known)
        note_waited_for(*region.instance, region.n_barriers, region.loop ? region.loop->id : region.construct);
}

// Returns the construct of the task that ended last on another thread of the team, after `since`. Returns 0 if no such
// task ended, or if the wait was too short to justify a search of all threads.
uint32_t last_ended(const ThreadState &thread, uint64_t since, uint64_t now) {
    const format::RegionInstance *instance = thread.region->instance;
    const uint32_t n_threads = __atomic_load_n(&process_log::header()->n_threads, __ATOMIC_RELAXED);
    if (!instance || now <= since || now - since < thread.exit_ticks * n_threads) return 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < n_threads && i < recorder::kMaxThreads; i++) {
        const ThreadState *other = recorder::thread_of_index(i);
        if (!other || other == &thread) continue;
        const uint64_t end = other->last_ended.time.load(std::memory_order_relaxed);
        if (end <= since || end > now) continue;
        const uint64_t what = other->last_ended.what.load(std::memory_order_relaxed);
        if (what >> format::kConstructBits != (instance->sequence & LastEnded::kSequences)) continue;
        since = end;
        found = static_cast<uint32_t>(what) & (format::kArgumentLimit - 1);
    }
    return found;
}

// The construct that holds a lock, or held it last. A thread that acquires the lock stores its own construct here.
// Locks with the same place in the table overwrite each other.
struct alignas(64) Holder {
    std::atomic<uint64_t> of{0}; // hash of the lock << kConstructBits | construct
};
constexpr unsigned kHolders = 512; // a power of two
Holder holders[kHolders];

// Makes the thread's construct the holder of the lock. Returns the construct that held the lock before; 0: not known.
uint32_t take_over(const ThreadState &thread, uint64_t lock) {
    const uint64_t hash = lock * 0x9E3779B97F4A7C15ull;
    std::atomic<uint64_t> &holder = holders[hash >> 55].of;
    const uint64_t construct = construct_around(thread);
    const uint64_t mine = hash << format::kConstructBits | construct, before = holder.load(std::memory_order_relaxed);
    if (before != mine) holder.store(mine, std::memory_order_relaxed);
    constexpr uint64_t kConstruct = format::kArgumentLimit - 1;
    return (before & ~kConstruct) == (mine & ~kConstruct) ? static_cast<uint32_t>(before & kConstruct) : 0;
}

// Replaces the construct that threads waited for at a barrier, unless settle_waited_for() has fixed it.
void correct_waited_for(format::RegionInstance &instance, uint32_t n_barriers, uint32_t construct) {
    uint64_t *place = &instance.waited_for[(n_barriers - 1) & 1];
    uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
    const uint64_t better = static_cast<uint64_t>(n_barriers) << 32 | construct;
    while (!(known & format::kSettled) &&
           !__atomic_compare_exchange_n(place, &known, better, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

} // namespace

uint32_t waited_for(const format::RegionInstance &instance, uint32_t n_barriers) {
    return format::waited_for(__atomic_load_n(&instance.waited_for[(n_barriers - 1) & 1], __ATOMIC_RELAXED),
                              n_barriers);
}

uint32_t settle_waited_for(format::RegionInstance &instance, uint32_t n_barriers) {
    return format::waited_for(
        __atomic_fetch_or(&instance.waited_for[(n_barriers - 1) & 1], format::kSettled, __ATOMIC_RELAXED), n_barriers);
}

void count_last_gap(format::WaitSlot &wait, format::LoopSlot *loop, LastGap gap, uint32_t waited_for) {
    if (loop) loop->imbalance_ticks += gap.until_arrival;
    if (!gap.is_long) return;
    wait.n_long++;
    if (waited_for) format::count_waited_for(wait, waited_for, gap.idle);
}

// Begins a wait of the current task, counted in `wait`.
[[gnu::always_inline]] static inline void open_wait(ThreadState &thread, format::WaitSlot &wait, uint32_t kind,
                                                    uint64_t now) {
    TaskState &task = *thread.current;
    wait.n_waits++;
    task.wait = &wait;
    task.wait_begin = now;
    task.flags |= kWaiting;
    open_interval(thread, format::kOpenGap);
    thread.header->open_wait = wait.id;
    if (thread.tracing) {
        trace_place(thread, wait);
        thread.log.wait_begin(kind, now);
    }
}

[[gnu::noinline]] static void begin_barrier(ThreadState &thread, uint32_t kind, const void *address) {
    const uint64_t now = clock::now();
    close_open(thread, now);
    thread.previous.creator = nullptr;
    end_unreported_loops(thread, now);
    format::WaitSlot &wait = barrier_wait(thread, kind, address);
    // A worker's last event in a region may be its arrival at the region's end, where runtimes report no address.
    if (!address && thread.region->instance && !thread.region->primary) read_system_use(thread, now);
    arrive(thread, now);
    open_wait(thread, wait, kind, now);
}

void begin_wait(ThreadState &thread, uint32_t kind, const void *address) {
    if (format::is_barrier(kind)) return begin_barrier(thread, kind, address);
    const uint64_t now = clock::now();
    close_open(thread, now);
    thread.previous.creator = nullptr;
    open_wait(thread, thread.places.wait(place_of_call(thread, address), kind), kind, now);
}

void name_wait(ThreadState &thread, uint32_t kind, const void *address) {
    const format::WaitSlot &wait = thread.places.wait(place_of_call(thread, address), kind);
    thread.traced_wait = wait.id;
    thread.log.wait_place(wait.id);
}

// Counts a wait of `task` that has ended and is already recorded.
static void count_wait(ThreadState &thread, TaskState &task, uint64_t now) {
    format::WaitSlot &wait = *task.wait;
    const uint64_t ticks = now - task.wait_begin;
    wait.ticks += ticks;
    if (ticks > wait.max_ticks) wait.max_ticks = ticks;
    task.flags &= static_cast<uint16_t>(~(kWaiting | kHeldWait));
    open_interval(thread, format::kOpenWork);
}

[[gnu::noinline]] static void end_barrier(ThreadState &thread, uint32_t kind) {
    EnteredRegion *region = thread.region;
    format::RegionInstance *instance = region->instance;
    // Runtimes report the end of a region's last barrier to workers when the next region starts, or never, so
    // end_implicit() ends the workers' wait.
    if (instance && !region->primary && __atomic_load_n(&instance->end, __ATOMIC_ACQUIRE)) return;
    TaskState &task = *thread.current;
    const uint64_t now = clock::now(), gap_begin = thread.header->mark;
    const uint64_t arrival = instance ? last_arrival(*region) : gap_begin;
    const bool had_tasks = instance && instance->has_tasks;
    const LastGap gap = close_gap_at_end(thread, arrival, had_tasks, now);
    uint32_t what = 0;
    if (gap.is_long && instance) {
        if (had_tasks) what = last_ended(thread, arrival > gap_begin ? arrival : gap_begin, now);
        if (what) correct_waited_for(*instance, region->n_barriers, what);
        what = waited_for(*instance, region->n_barriers);
        if (what && thread.tracing) thread.log.untimed(format::kWaitedFor, what);
    }
    count_last_gap(*task.wait, region->loop, gap, what);
    region->loop = nullptr;
    if (thread.tracing)
        thread.log.timed(format::kBarrierEnd, kind, now, (arrival < now ? now - arrival : 0) << 1 | had_tasks);
    count_wait(thread, task, now);
    if (kind == format::kRegionBarrier && region->primary) region->last_barrier_end = now;
}

// Counts a long wait for tasks, and its cause.
[[gnu::noinline]] static void count_long_wait(ThreadState &thread, LastGap gap, uint64_t now) {
    const uint32_t what = last_ended(thread, now - gap.idle, now);
    if (what && thread.tracing) thread.log.untimed(format::kWaitedFor, what);
    count_last_gap(*thread.current->wait, nullptr, gap, what);
}

static void end_wait_for_tasks(ThreadState &thread, uint32_t kind, uint64_t now) {
    TaskState &task = *thread.current;
    const LastGap gap = close_gap_at_end(thread, 0, true, now);
    if (__builtin_expect(gap.is_long, 0)) count_long_wait(thread, gap, now);
    if (kind == format::kTaskwait) forget_children(task);
    if (thread.tracing) thread.log.wait_end(kind, now);
    count_wait(thread, task, now);
}

void end_wait(ThreadState &thread, uint32_t kind) {
    if (!(thread.current->flags & kWaiting)) return;
    if (format::is_barrier(kind)) return end_barrier(thread, kind);
    end_wait_for_tasks(thread, kind, clock::now());
}

void end_wait_at_once(ThreadState &thread, uint32_t kind) {
    if (thread.current->flags & kWaiting) end_wait_for_tasks(thread, kind, thread.header->mark);
}

void begin_untimed_wait(ThreadState &thread, uint32_t kind) {
    format::WaitSlot &wait = thread.places.wait(nullptr, kind);
    wait.n_waits++;
    thread.current->wait = &wait;
    thread.current->wait_begin = thread.header->mark;
    thread.current->flags |= kWaiting;
}

void end_untimed_wait(ThreadState &thread) {
    thread.current->flags &= static_cast<uint16_t>(~(kWaiting | kHeldWait));
    forget_children(*thread.current);
    open_interval(thread, format::kOpenWork);
}

void begin_gap(ThreadState &thread) {
    close_work(thread, clock::now());
    open_interval(thread, format::kOpenGap);
    thread.header->open_wait = thread.current->wait->id;
}

void begin_lock(ThreadState &thread, uint32_t kind, const void *address, uint64_t now) {
    close_open(thread, now);
    // If the run ends in this wait, the open interval is sync.
    if (format::always_waits(kind) && thread.header->open_state == format::kOpenWork)
        open_interval(thread, format::kOpenFork);
    thread.previous.creator = nullptr;
    thread.lock = &thread.places.wait(place_of_call(thread, address), format::mutex_wait(kind));
    if (thread.tracing) {
        trace_place(thread, *thread.lock);
        thread.log.timed(format::kMutexAcquire, format::mutex_in_record(kind), now);
    }
}

void end_lock(ThreadState &thread, uint32_t kind, uint64_t lock, uint64_t now) {
    const uint64_t ticks = now - thread.header->mark;
    thread.region->slot->lock_ticks += ticks;
    close_interval(thread, State::kSync, now);
    if (thread.header->open_state == format::kOpenFork) open_interval(thread, format::kOpenWork);
    const uint32_t before = lock ? take_over(thread, lock) : 0;
    const bool is_long = ticks > thread.exit_ticks;
    if (before && thread.tracing && is_long) thread.log.untimed(format::kWaitedFor, before);
    if (format::WaitSlot *wait = std::exchange(thread.lock, nullptr)) {
        wait->n_waits++;
        wait->ticks += ticks;
        if (ticks > wait->max_ticks) wait->max_ticks = ticks;
        format::gap_ticks(*wait, State::kSync) += ticks;
        count_last_gap(*wait, nullptr, {0, ticks, is_long}, before);
    }
    if (!thread.tracing) return;
    kind = format::mutex_in_record(kind);
    thread.log.mutex_acquired(lock ? format::mutex_argument(kind, lock) : kind, now);
}

void extend_lock(ThreadState &thread, uint32_t kind, format::WaitSlot &wait, uint64_t &begin, uint64_t now) {
    const uint64_t since = thread.header->mark, ticks = now - since;
    const bool was_long = since - begin > thread.exit_ticks;
    thread.region->slot->lock_ticks += ticks;
    close_interval(thread, State::kSync, now); // may write records
    const bool is_new = thread.tracing && !thread.log.postpone_mutex_acquired(now);
    if (is_new) {
        begin = since;
        wait.n_waits++;
        trace_place(thread, wait);
        thread.log.timed(format::kMutexAcquire, kind, since);
        thread.log.mutex_acquired(kind, now);
    }
    wait.ticks += ticks;
    if (now - begin > wait.max_ticks) wait.max_ticks = now - begin;
    format::gap_ticks(wait, State::kSync) += ticks;
    wait.n_long += (now - begin > thread.exit_ticks) && (is_new || !was_long);
}

void release_lock(ThreadState &thread, uint32_t kind, uint64_t lock) {
    const uint64_t now = clock::now();
    if (has_off_cpu(thread, now)) update_off_cpu(thread, now); // its records must come first
    thread.last_inner_event = now;
    thread.log.timed(format::kMutexReleased, format::mutex_argument(format::mutex_in_record(kind), lock), now);
}

} // namespace ompass
