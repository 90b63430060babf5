// SPDX-License-Identifier: Apache-2.0
// The events of parallel regions.
#include "accounting/regions.h"

#include <iterator>

#include "accounting/calls.h"
#include "accounting/loops.h"
#include "accounting/tasks.h"
#include "accounting/waits.h"
#include "dumps.h"
#include "log/process_log.h"

namespace ompass {

using format::Contradiction;

namespace {

void note_region(ThreadState &thread) {
    thread.header->open_instance = thread.region->instance ? thread.region->instance->index : ~0ull;
    thread.header->open_sequence = thread.region->instance ? thread.region->instance->sequence : 0;
    thread.header->open_region = thread.region->construct;
    thread.header->open_barrier = thread.region->n_barriers;
    thread.header->open_primary = thread.region->primary;
    thread.n_tasks = &thread.region->slot->n_tasks;
    aim_light_counters(thread);
}

// Returns the constructs of the region at `address` and of the wait at its end.
const Regions::Known &known_region(ThreadState &thread, const void *address) {
    Regions::Known &known =
        thread.regions.known[reinterpret_cast<uintptr_t>(address) / 4 % std::size(thread.regions.known)];
    if (known.address != address || known.construct == 0) {
        known.address = address;
        known.construct = process_log::construct_of_address(format::DefinitionKind::kParallel, address, 0);
        known.end_wait =
            process_log::construct_of_address(format::DefinitionKind::kWait, address, format::kRegionBarrier);
    }
    return known;
}

} // namespace

// ---------------------------------------------------------------- regions

format::RegionInstance *begin_region(ThreadState &thread, const void *address, uint32_t n_requested, bool is_internal) {
    const uint64_t now = clock::now();
    close_open(thread, now);
    read_clocks(thread, now);
    read_system_use(thread, now);
    thread.previous.creator = nullptr;
    if (!is_internal) process_log::note_first_region();
    format::RegionInstance *instance = thread.reserve_region() ? thread.regions.instances.take() : nullptr;
    if (!instance) return nullptr;
    const void *place = place_of_call(thread, address); // before the thread enters the region
    EnteredRegion *region = thread.push_region();
    const auto [_, construct, end_wait] = known_region(thread, place);
    region->slot = thread.region_slot(construct, format::DefinitionKind::kParallel);
    region->address = address;
    region->instance = instance;
    region->construct = construct;
    region->begin = now;
    region->level = region->outer->level + 1;
    region->n_requested = n_requested;
    region->primary = true;
    instance->begin = now;
    instance->construct = construct;
    instance->end_wait = end_wait;
    instance->is_internal = is_internal;
    if (is_internal) thread.header->kind = format::ThreadKind::kHelper;
    instance->level = region->level;
    instance->n_open = instance->n_joined = 1;
    instance->primary_thread = thread.index;
    instance->team_size = 1;
    instance->id = thread.new_id();
    if (region->slot->level == 0) region->slot->level = region->level;
    note_region(thread);
    open_interval(thread, format::kOpenFork);
    if (thread.tracing)
        thread.log.timed(format::kRegionBegin, construct, now, instance->id,
                         instance->level | uint64_t{n_requested} << 32);
    return instance;
}

// True if the thread is in this region, or leads a region nested in it.
static bool is_in(const ThreadState &thread, const format::RegionInstance *instance) {
    const EnteredRegion *region = thread.region;
    while (region && region->instance != instance) region = region->outer;
    return region != nullptr;
}

static void leave_region(ThreadState &thread, const TaskState &task);

// Returns the time at which the current implicit task ends. If the region's last barrier has just ended, no code of the
// program follows, so the task ends at the same time.
static uint64_t end_of_implicit(const ThreadState &thread) {
    const uint64_t mark = thread.header->mark;
    const bool at_once = thread.region->last_barrier_end == mark && thread.last_inner_event <= mark;
    return at_once ? mark : clock::now();
}

// Ends an implicit task, but keeps its state.
static void leave_implicit(ThreadState &thread, TaskState *task) {
    EnteredRegion *region = thread.region;
    if (thread.loops.depth) end_unreported_loops(thread, clock::now());
    if (region->implicit == task) region->implicit = nullptr;
    if (region->primary || region->instance == nullptr || task->flags & kInitial) {
        const uint64_t now = end_of_implicit(thread);
        close_open(thread, now);
        read_clocks(thread, now);
        read_system_use(thread, now);
        open_interval(thread, region->primary ? format::kOpenFork : format::kOpenNone);
        if (thread.tracing) thread.log.timed(format::kImplicitLeave, 0, now);
    } else {
        const uint64_t end = __atomic_load_n(&region->instance->end, __ATOMIC_ACQUIRE);
        const uint64_t until = end ? end : clock::now();
        if (thread.clocks.is_due(until) || thread.system_use.is_due(until)) {
            const uint64_t now = clock::now();
            read_clocks(thread, *region->slot, 0, until, now);
            read_system_use(thread, 0, until, now);
        }
        leave_region(thread, *task);
        close_ended_regions(thread); // may write off-CPU intervals, which precede the end of their task in the trace
        if (thread.tracing) thread.log.untimed(format::kImplicitEnd, 0);
    }
    thread.current = task->below ? task->below : &thread.base_task;
    task->owner = nullptr;
    task->flags &= static_cast<uint16_t>(~kStarted);
}

// Sets the team's size to the number of threads that joined, and returns it. Times add up only with this number.
static uint32_t settle_team_size(format::RegionInstance &instance) {
    const uint32_t n_joined = __atomic_load_n(&instance.n_joined, __ATOMIC_RELAXED);
    const bool are_all_recorded = __atomic_load_n(&process_log::header()->n_unlogged, __ATOMIC_RELAXED) == 0;
    if (n_joined != instance.team_size && are_all_recorded) process_log::note_contradiction(Contradiction::kTeamSize);
    return instance.team_size = n_joined;
}

// Ends the region that the thread entered last. Ignores the runtime's region data: libomp reuses the data of a nested
// team before it reports the region's end, and passes the outer region's data in a serialised league.
void end_region(ThreadState &thread) {
    if (!thread.region->primary) return;
    EnteredRegion *region = thread.region;
    // Ends the implicit task first: libomp does not report its end in gcc's leagues, and a runtime may report it later.
    // Keeps the state, in case a report follows.
    if (TaskState *implicit = region->implicit) {
        if (!runs(thread, implicit)) resume_task(thread, implicit);
        leave_implicit(thread, implicit);
    }
    format::RegionInstance *instance = region->instance;
    const uint64_t now = clock::now();
    close_open(thread, now);
    read_clocks(thread, now);
    read_system_use(thread, now);
    const uint64_t duration = now - region->begin;
    const uint64_t arrival = __atomic_load_n(&instance->last_arrival[(region->n_barriers - 1) & 1], __ATOMIC_ACQUIRE);
    format::RegionSlot &slot = *region->slot;
    slot.n_instances++;
    slot.n_primary++;
    slot.wall_ticks += duration;
    const uint32_t team_size = settle_team_size(*instance);
    slot.capacity_ticks += duration * team_size;
    if (team_size > slot.max_team_size) slot.max_team_size = team_size;
    format::count_request(slot, region->n_requested, team_size);
    if (const uint32_t awaited = settle_waited_for(*instance, region->n_barriers); awaited && thread.tracing)
        thread.log.untimed(format::kWaitedFor, awaited);
    if (thread.tracing)
        thread.log.timed(format::kRegionEnd, team_size, now, instance->id, arrival << 1 | (instance->has_tasks & 1));
    __atomic_store_n(&instance->end, now, __ATOMIC_RELEASE);
    check_part(thread, *region);
    thread.pop_region();
    thread.region->slot->nested_ticks += thread.region->instance ? duration : 0;
    note_region(thread);
    thread.regions.instances.give_back(instance);
    enter(thread, thread.current, now);
    process_log::renew_calibration_if_due(now);
    dumps::request_if_longer(duration);
}

// Counts the time between the region's start and the worker's creation as off-CPU time of the worker. Does nothing if
// the worker is older than the region.
static void charge_creation(ThreadState &thread, const EnteredRegion &region, uint64_t now) {
    const uint64_t created = thread.header->first_ticks;
    if (thread.kind != format::ThreadKind::kWorker || created <= region.begin) return;
    if (thread.off_cpu.is_open()) {
        thread.off_cpu.note_creation_after(region.begin);
        charge_off_cpu(thread, State::kSync, now);
    } else if (thread.clocks.is_used()) {
        region.slot->off_cpu_anywhere.blocked += created - region.begin;
    }
}

// Leaves regions whose end was not reported, down to `target`.
static void leave_regions(ThreadState &thread, const EnteredRegion *target) {
    while (thread.region != target) {
        TaskState *implicit = thread.region->implicit;
        if (thread.region->primary) {
            end_region(thread);
        } else {
            if (!runs(thread, implicit)) resume_task(thread, implicit);
            leave_implicit(thread, implicit);
        }
    }
}

// Returns the contradiction if the thread cannot begin an implicit task in this region now; kContradictions: none.
static Contradiction objection_to(const ThreadState &thread, const format::RegionInstance *instance) {
    if (!instance) return thread.region->instance ? Contradiction::kSecondImplicit : Contradiction::kContradictions;
    if (!is_in(thread, instance)) return Contradiction::kContradictions;
    return thread.region->implicit ? Contradiction::kSecondImplicit : Contradiction::kContradictions;
}

TaskState *begin_implicit(ThreadState &thread, format::RegionInstance *instance, uint32_t team_size) {
    close_ended_regions(thread);
    if (const Contradiction what = objection_to(thread, instance); what != Contradiction::kContradictions) {
        process_log::note_contradiction(what);
        return nullptr;
    }
    if (team_size >= format::kArgumentLimit) team_size = format::kArgumentLimit - 1; // the largest size in a record
    const bool joins = instance && !is_in(thread, instance);
    if (joins && thread.region != &thread.regions.outside) {
        process_log::note_contradiction(Contradiction::kNotLeft);
        leave_regions(thread, &thread.regions.outside);
    }
    TaskState *task = thread.pool.peek();
    if (!task || (joins && !(thread.reserve_region() && InstancePool::join(instance)))) return nullptr;
    thread.pool.take_next();
    const uint64_t now = clock::now();
    task->flags = kImplicit | kStarted | (instance ? 0 : kInitial);
    task->id = thread.new_id();
    task->worked = 0;
    task->local = nullptr;
    if (!instance) { // initial task: from here on the thread runs user code outside of every region
        task->construct = 0;
        close_open(thread, now);
        if (thread.tracing) thread.log.timed(format::kImplicitBegin, team_size, now, 0);
    } else {
        if (joins) { // a worker joins; it has been in sync since the region's start
            read_system_use(thread, now); // before it enters: its use so far belongs to the time outside
            thread.header->mark = now;
            EnteredRegion *region = thread.push_region();
            region->slot = thread.region_slot(instance->construct, format::DefinitionKind::kParallel);
            region->instance = instance;
            region->construct = instance->construct;
            region->begin = instance->begin;
            region->level = instance->level;
            region->slot->n_instances++;
            if (instance->is_internal)
                thread.header->kind = format::ThreadKind::kHelper;
            else if (thread.header->kind == format::ThreadKind::kOther)
                thread.header->kind = thread.kind; // it had run kernels only
            if (region->slot->level == 0) region->slot->level = region->level;
            note_region(thread);
            read_clocks(thread, *region->slot, instance->begin, now, now);
            thread.header->mark = instance->begin;
            charge_creation(thread, *region, now);
            close_interval(thread, State::kSync, now);
        } else {
            instance = thread.region->instance;
            if (thread.region->primary) instance->team_size = team_size;
            close_open(thread, now);
        }
        task->construct = instance->construct;
        thread.region->implicit = task;
        if (thread.tracing) thread.log.timed(format::kImplicitBegin, team_size, now, instance->id);
    }
    note_cpu(thread, cpu::current());
    put_on_stack(thread, task, task);
    enter(thread, task, now);
    return task;
}

void end_implicit(ThreadState &thread, TaskState *task) {
    if (!(task->flags & kStarted)) return free_task(thread, task); // it ended with its region
    const EnteredRegion *region = thread.region;
    while (region != &thread.regions.outside && region->implicit != task) region = region->outer;
    if (region != thread.region) {
        process_log::note_contradiction(Contradiction::kWrongImplicit);
        leave_regions(thread, region);
    }
    if (!runs(thread, task)) resume_task(thread, task); // tasks above it continue on other threads
    leave_implicit(thread, task);
    free_task(thread, task);
}

// Closes the last gap of a worker in a region: from the end of its work to the end of the region.
static void close_part(ThreadState &thread, unsigned place, uint64_t end) {
    format::PendingPart &part = thread.header->pending[place];
    format::RegionInstance *instance = thread.regions.pending[place];
    format::WaitSlot &wait = thread.places.wait_of(thread.header->pending_wait[place]);
    const uint32_t loop = thread.header->pending_loop[place];
    format::RegionSlot &slot = *thread.region_slot(part.region, format::DefinitionKind::kParallel);
    const uint64_t arrival = __atomic_load_n(&instance->last_arrival[(part.n_barriers - 1) & 1], __ATOMIC_ACQUIRE);
    const uint64_t split = arrival <= part.begin ? part.begin : arrival >= end ? end : arrival;
    const bool is_idle = instance->has_tasks && end > split && end - split > thread.exit_ticks;
    uint64_t *ticks = slot.state_ticks;
    const auto &off_cpu = thread.header->pending_off_cpu[place];
    if (end > part.begin) {
        slot.off_cpu[static_cast<size_t>(State::kIdle)] += format::shortened(off_cpu.waiting, split - part.begin);
        slot.off_cpu[static_cast<size_t>(is_idle ? State::kIdle : State::kSync)] +=
            format::shortened(off_cpu.leaving, end - split);
    }
    if (end < part.begin) {
        const uint64_t excess = part.begin - end;
        const State state = format::state_of_excess(instance->has_tasks, excess, thread.exit_ticks);
        if (!format::take_back(slot, wait, state, excess)) process_log::note_contradiction(Contradiction::kAfterRegion);
    } else {
        const uint64_t idle = split - part.begin + (is_idle ? end - split : 0), sync = is_idle ? 0 : end - split;
        ticks[static_cast<size_t>(State::kIdle)] += idle;
        ticks[static_cast<size_t>(State::kSync)] += sync;
        format::gap_ticks(wait, State::kIdle) += idle;
        format::gap_ticks(wait, State::kSync) += sync;
        count_last_gap(wait, loop ? &thread.places.loop_of(loop) : nullptr,
                       {split - part.begin, idle, idle > thread.exit_ticks}, waited_for(*instance, part.n_barriers));
    }
    wait.ticks += end - part.begin;
    part.sequence = 0;
    InstancePool::close(instance);
}

// Leaves a region as a worker. The region ends later, when its primary thread reports the end. The worker may be in
// another region by then, because runtimes release the threads of a nested team before they report the end.
static void leave_region(ThreadState &thread, const TaskState &task) {
    EnteredRegion *region = thread.region;
    unsigned place = 0;
    while (place < format::kMaxPendingParts && thread.header->pending[place].sequence) place++;
    if (place == format::kMaxPendingParts) { // no room: close one now
        place = 0;
        close_part(thread, 0, clock::now());
    }
    format::PendingPart &part = thread.header->pending[place];
    part.instance = region->instance->index;
    part.begin = thread.header->mark;
    part.region = region->construct;
    part.n_barriers = region->n_barriers;
    thread.header->pending_wait[place] = task.flags & kWaiting ? task.wait->id : 0;
    thread.header->pending_loop[place] = region->loop ? region->loop->id : 0;
    if (task.flags & kWaiting) task.wait->ticks += thread.header->mark - task.wait_begin;
    thread.regions.pending[place] = region->instance;
    auto &off_cpu = thread.header->pending_off_cpu[place];
    off_cpu = {};
    if (has_off_cpu(thread, UINT64_MAX)) { // all threads have arrived; the end of the region may not be known yet
        // Reads the clock first, because the region may end while this thread is off its processor.
        const uint64_t now = clock::now(), end = __atomic_load_n(&region->instance->end, __ATOMIC_ACQUIRE);
        const uint64_t until = end ? end : now,
                       arrival = __atomic_load_n(&region->instance->last_arrival[(region->n_barriers - 1) & 1],
                                                 __ATOMIC_ACQUIRE);
        pass_off_cpu(thread, part.begin);
        off_cpu.waiting = take_off_cpu(thread, arrival < until ? arrival : until);
        off_cpu.leaving = take_off_cpu(thread, until);
    }
    __atomic_store_n(&part.sequence, region->instance->sequence, __ATOMIC_RELEASE);
    open_interval(thread, format::kOpenNone);
    check_part(thread, *region);
    thread.pop_region();
    note_region(thread);
}

void close_ended_regions(ThreadState &thread) {
    for (unsigned i = 0; i < format::kMaxPendingParts; i++) {
        format::PendingPart &part = thread.header->pending[i];
        if (part.sequence == 0) continue;
        const uint64_t end = __atomic_load_n(&thread.regions.pending[i]->end, __ATOMIC_ACQUIRE);
        if (end) close_part(thread, i, end);
    }
}

} // namespace ompass
