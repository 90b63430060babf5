// SPDX-License-Identifier: Apache-2.0
// The events of deferred tasks, waits, regions and bracketed creations. See accounting.h for the rules.
#include "accounting.h"

#include "process_log.h"

namespace ompass {

namespace {

constexpr uint32_t kLongestPeriod = 256;
constexpr uint32_t kConsider = 32; // timed tasks between two looks at the period

// Ticks of kSampleBelowNanoseconds, converted once per thread of control that needs it.
uint64_t short_ticks() {
    static const uint64_t ticks = clock::from_ns(format::kSampleBelowNanoseconds);
    return ticks;
}

// Draws the distance to the next timed task: random, lest the period fall in step with the program's own.
void draw_next_sample(ThreadState &thread, TaskConstruct &construct) {
    uint32_t distance = 1;
    if (construct.period > 1) {
        thread.random ^= thread.random << 13;
        thread.random ^= thread.random >> 17;
        thread.random ^= thread.random << 5;
        distance = construct.period / 2 + thread.random % construct.period;
    }
    format::ConstructSlot &slot = *construct.slot; // n_drawn + weight - countdown stays the number of tasks begun
    slot.n_drawn += slot.weight;
    slot.weight = slot.countdown = distance;
}

// Lengthens the period while most tasks are short, shortens it when most are not.
void consider_period(TaskConstruct &construct, uint64_t ticks) {
    construct.n_short += ticks < short_ticks();
    if (++construct.n_recent < kConsider) return;
    if (construct.n_short * 4 >= kConsider * 3)
        construct.period = construct.period >= kLongestPeriod ? kLongestPeriod : construct.period * 4;
    else if (construct.n_short * 4 < kConsider)
        construct.period = construct.period > 4 ? construct.period / 4 : 1;
    construct.n_recent = construct.n_short = 0;
}

// Are this construct's tasks so short that a creation in one of them needs no time of its own?
void consider_coarse(TaskConstruct &construct, uint64_t ticks) {
    static const uint64_t limit = clock::from_ns(format::kCoarseBelowNanoseconds);
    construct.n_coarse += ticks < limit ? 1 : ~0u; // a long one undoes a short one
    if (construct.n_coarse > 2 * kConsider) construct.n_coarse = ticks < limit ? 2 * kConsider : 0;
    construct.is_coarse = construct.n_coarse >= kConsider;
}

// When the task could first have run: its creation, or the end of the last task that it had to wait for.
uint64_t ready_time(const TaskState &task) {
    uint64_t ready = task.ready;
    for (unsigned i = 0; i < task.n_predecessors; i++) {
        const auto &predecessor = task.predecessors[i];
        const uint64_t end = predecessor.task->end;
        if (predecessor.task->id == predecessor.id && end > ready) ready = end;
    }
    return ready;
}

void enter(ThreadState &thread, TaskState *task, uint64_t now) {
    thread.current = task;
    thread.header->mark = now;
    open_stretch(thread, task->flags & kWaiting ? format::kOpenGap : format::kOpenWork);
    thread.header->open_construct = task->local ? task->local->id : 0;
}

// Closes the open stretch because `next` will run from now on.
void leave_for(ThreadState &thread, uint64_t ready, uint64_t now) {
    if (thread.header->open_state == format::kOpenGap)
        close_gap_before_task(thread, ready, now);
    else
        close_open(thread, now);
}

// When the last member so far came to the barrier that this thread has reached last.
uint64_t last_arrival(const RegionContext &region) {
    return __atomic_load_n(&region.instance->last_arrival[(region.n_barriers - 1) & 1], __ATOMIC_ACQUIRE);
}

void note_region(ThreadState &thread) {
    thread.header->open_instance = thread.region->instance ? thread.region->instance->index : ~0ull;
    thread.header->open_sequence = thread.region->instance ? thread.region->instance->sequence : 0;
    thread.header->open_region = thread.region->construct;
    thread.header->open_barrier = thread.region->n_barriers;
    thread.header->open_primary = thread.region->primary;
    thread.n_tasks = &thread.region->slot->n_tasks;
}

} // namespace

// ---------------------------------------------------------------- undeferred tasks that are timed

void trace_uncoded_begin(ThreadState &thread, TaskConstruct &construct) {
    if (construct.inline_code != format::kInlineCodes) construct.inline_code = thread.log.new_inline_code(construct.id);
    if (construct.inline_code < format::kInlineCodes)
        thread.log.inline_begin(construct.inline_code);
    else
        thread.log.untimed(format::kInlineBegin, construct.id);
}

void begin_inline_slowly(ThreadState &thread, TaskState *task) {
    TaskConstruct *construct = task->local;
    if (thread.sample_pending) end_sample(thread);
    const bool timed = --construct->slot->countdown == 0 && thread.counting;
    uint64_t now = 0;
    if (timed || thread.current->creating) {
        now = clock::now();
        if (thread.current->creating) {
            thread.create_construct = construct;
            thread.create_event = true;
        }
        close_open(thread, now);
        open_stretch(thread, format::kOpenWork);
    }
    if (timed) {
        task->flags |= kTimed;
        task->worked = task->frame->worked;
        task->weight = construct->slot->weight;
        draw_next_sample(thread, *construct);
        begin_sample(thread, task->weight);
        if (thread.tracing) thread.log.timed(format::kInlineBeginTimed, construct->id, now);
    } else {
        thread.dirty = true;
        if (thread.tracing) trace_inline_begin(thread, *construct);
    }
    thread.current = task;
}

void end_inline_slowly(ThreadState &thread, TaskState *task) {
    if (thread.sample_pending) end_sample(thread);
    if (task->flags & kTimed) {
        const uint64_t now = clock::now();
        close_work(thread, now);
        const uint64_t ticks = task->frame->worked - task->worked;
        count_duration(*task->local->slot, ticks, task->weight);
        consider_period(*task->local, ticks);
        begin_sample(thread, task->weight);
        if (thread.tracing) thread.log.timed(format::kInlineEndTimed, task->local->id, now);
    } else {
        thread.dirty = true;
        if (thread.tracing) thread.log.inline_end();
    }
    if (task->flags & (kHasChildren | kHasDescendants)) task->below->flags |= kHasDescendants;
    *thread.n_tasks += thread.counting & !(task->flags & kUncounted);
    thread.current = task->below;
    thread.pool.give_back(task);
}

void convert_inline(ThreadState &thread, TaskState *task) {
    if (thread.sample_pending) end_sample(thread);
    task->below->flags |= kHasChildren | kHasDescendants;
    task->construct = task->local->id;
    task->worked = 0;
    task->frame = task;
    task->local->slot->n_converted++;
}

// ---------------------------------------------------------------- deferred tasks

void create_deferred(ThreadState &thread, TaskState *task, TaskConstruct *construct) {
    // The clock is not read again where the account already has a time that is as good: the begin of the bracket, or, in
    // a task of a construct whose tasks are shorter than kCoarseBelowNanoseconds, its last event.
    TaskState *creator = thread.current;
    const bool known =
        (creator->creating && thread.loop_task != creator) || (creator->local && creator->local->is_coarse);
    const uint64_t now = known ? thread.header->mark : clock::now();
    task->id = static_cast<uint64_t>(thread.index) << format::kThreadShift | ++thread.task_counter;
    task->ready = now;
    const uint32_t cpu = cpu::current();
    task->creator_cpu = static_cast<uint16_t>(cpu);
    note_cpu(thread, cpu);
    construct->slot->n_deferred++;
    thread.region->slot->n_created += thread.counting;
    creator->flags |= kHasChildren | kHasDescendants;
    if (thread.region->instance && !thread.region->instance->has_tasks) thread.region->instance->has_tasks = 1;
    if (!known) {
        if (thread.last_creator == creator) process_log::note_create_gap(now - thread.last_create);
        thread.last_creator = creator;
        thread.last_create = now;
    }
    thread.create_event = true;
    thread.create_construct = construct;
    thread.inline_period = 1;
    if (thread.tracing) {
        if (known)
            thread.log.untimed(format::kCreate, construct->id);
        else
            thread.log.timed(format::kCreate, construct->id, now);
    }
}

// A part of an untied task for this thread. What other parts created is not known here, so every wait counts.
static TaskState *take_part(ThreadState &thread, TaskState *task) {
    TaskState *part = thread.pool.take();
    if (!part) return task;
    part->id = task->id;
    part->construct = task->construct;
    part->flags = kPart | kStarted | kHasChildren | kHasDescendants;
    part->local = thread.construct_of(task->construct);
    part->frame = part;
    part->worked = 0;
    part->whole = task;
    return part;
}

// The part ends here; the task has been queued again. It may have gone on, and completed, elsewhere by now.
static void leave_part(ThreadState &thread, TaskState *part, uint64_t now) {
    TaskState *task = part->whole;
    if (task->id == part->id) {
        __atomic_fetch_add(&task->worked, part->worked, __ATOMIC_RELAXED);
        task->ready = now;
    }
    part->id = 0;
    thread.pool.give_back(part);
}

// What stands for `task` on this thread's stack, from `top` downwards; null when it is not there.
static TaskState *find_on_stack(TaskState *top, const TaskState *task) {
    for (TaskState *place = top; place; place = place->below)
        if (place == task || ((place->flags & kPart) && place->whole == task)) return place;
    return nullptr;
}

// Makes `place` the top of the stack: parts above it have been queued again.
static void unwind_to(ThreadState &thread, TaskState *top, const TaskState *place, uint64_t now) {
    while (top != place) {
        TaskState *above = top;
        top = top->below;
        if (above->flags & kPart) leave_part(thread, above, now);
    }
}

bool runs(const ThreadState &thread, const TaskState *task) {
    const TaskState *current = thread.current;
    return current == task || ((current->flags & kPart) && current->whole == task);
}

void start_task(ThreadState &thread, TaskState *task) {
    const uint64_t now = clock::now();
    const uint64_t ready = ready_time(*task);
    leave_for(thread, ready, now);
    thread.last_creator = nullptr;
    TaskConstruct *construct = thread.construct_of(task->construct);
    format::ConstructSlot &slot = *construct->slot;
    const uint64_t waited = now > ready ? now - ready : 0;
    slot.n_ready++;
    slot.ready_ticks += waited;
    if (waited > slot.ready_max_ticks) slot.ready_max_ticks = waited;
    const uint32_t cpu = cpu::current();
    note_cpu(thread, cpu);
    slot.n_other_thread += task->creator != thread.index;
    uint64_t moved = 0;
    if (cpu != task->creator_cpu) {
        const cpu::Place here = cpu::places[cpu], there = cpu::places[task->creator_cpu];
        if (here.core != there.core) slot.n_other_core++, moved |= format::kOtherCore;
        if (here.domain != there.domain) slot.n_other_domain++, moved |= format::kOtherDomain;
    }
    if (thread.tracing) {
        if (task->n_predecessors)
            thread.log.timed(format::kStartReady, task->construct, now, task->id | moved, waited);
        else
            thread.log.timed(format::kStart, task->construct, now, task->id | moved);
    }
    task->worked = 0;
    task->flags |= kStarted;
    if (task->flags & kUntied) {
        task = take_part(thread, task);
    } else {
        task->local = construct;
        task->frame = task;
    }
    task->below = thread.current;
    thread.current = task;
    open_stretch(thread, format::kOpenWork);
    thread.header->open_construct = construct->id;
}

void resume_task(ThreadState &thread, TaskState *task) {
    const uint64_t now = clock::now();
    TaskState *top = thread.current;
    leave_for(thread, task->ready, now);
    thread.last_creator = nullptr;
    TaskState *place = find_on_stack(top, task);
    if (place) {
        unwind_to(thread, top, place, now);
    } else {
        place = task->flags & kUntied ? take_part(thread, task) : task;
        place->below = top;
        if (!(task->flags & (kUntied | kImplicit | kInline))) place->local = thread.construct_of(task->construct);
    }
    if (thread.tracing) {
        const uint64_t waited = now > task->ready ? now - task->ready : 0;
        thread.log.timed(format::kResume, place->local ? place->local->id : 0, now, place->id,
                         waited << 1 | (place->flags & kWaiting ? 1 : 0));
    }
    enter(thread, place, now);
}

void complete_task(ThreadState &thread, TaskState *task, TaskState *next, uint32_t status) {
    const uint64_t now = clock::now();
    TaskState *place = thread.current;
    close_open(thread, now);
    thread.last_creator = nullptr;
    format::ConstructSlot &slot = *place->local->slot;
    const uint64_t worked = place == task ? task->worked : task->worked + place->worked;
    count_duration(slot, worked, 1);
    consider_coarse(*place->local, worked);
    TaskState *below = place->below ? place->below : &thread.base_task;
    TaskState *on_stack = next && next != task ? find_on_stack(below, next) : below;
    if (thread.tracing) {
        if (!on_stack || on_stack == below)
            thread.log.timed(format::kComplete, status, now);
        else
            thread.log.timed(format::kCompleteTo, status, now, on_stack->id);
    }
    task->end = now;
    if (place != task) {
        place->id = 0;
        thread.pool.give_back(place);
    }
    if (status != format::kStatusDetach) { // else the event that completes it is still to come
        slot.n_completed++;
        *thread.n_tasks += thread.counting;
        free_task(thread, task);
    }
    if (on_stack) unwind_to(thread, below, on_stack, now);
    enter(thread, on_stack ? on_stack : below, now);
    if (!on_stack) resume_task(thread, next);
}

void discard_task(ThreadState &thread, TaskState *task) {
    thread.construct_of(task->construct)->slot->n_cancelled++;
    if (thread.tracing) thread.log.untimed(format::kDiscard, task->construct, task->id);
    free_task(thread, task);
}

void fulfill_task(ThreadState &thread, TaskState *task) {
    task->end = clock::now();
    thread.construct_of(task->construct)->slot->n_completed++;
    *thread.n_tasks += thread.counting;
    if (thread.tracing) thread.log.untimed(format::kFulfill, task->construct, task->id);
    free_task(thread, task);
}

// ---------------------------------------------------------------- waits

void begin_wait(ThreadState &thread, uint32_t kind) {
    const uint64_t now = clock::now();
    close_open(thread, now);
    thread.last_creator = nullptr;
    RegionContext *region = thread.region;
    if (format::is_barrier(kind) && region->instance) {
        uint64_t *arrival = &region->instance->last_arrival[region->n_barriers++ & 1];
        thread.header->open_barrier = region->n_barriers;
        uint64_t known = __atomic_load_n(arrival, __ATOMIC_RELAXED);
        while (now > known &&
               !__atomic_compare_exchange_n(arrival, &known, now, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    }
    thread.current->flags |= kWaiting;
    open_stretch(thread, format::kOpenGap);
    if (thread.tracing) thread.log.timed(format::kWaitBegin, kind, now);
}

void end_wait(ThreadState &thread, uint32_t kind) {
    TaskState *task = thread.current;
    RegionContext *region = thread.region;
    if (!(task->flags & kWaiting)) return;
    if (format::is_barrier(kind)) {
        // The end of a region-end barrier reaches workers when the next region starts, or never: end_implicit's.
        if (region->instance && !region->primary && __atomic_load_n(&region->instance->end, __ATOMIC_ACQUIRE)) return;
        const uint64_t now = clock::now();
        const uint64_t arrival = region->instance ? last_arrival(*region) : thread.header->mark;
        const bool had_tasks = region->instance && region->instance->has_tasks;
        close_gap_at_end(thread, arrival, had_tasks, now);
        if (thread.tracing)
            thread.log.timed(format::kBarrierEnd, kind, now, (arrival < now ? now - arrival : 0) << 1 | had_tasks);
    } else {
        const uint64_t now = clock::now();
        close_gap_at_end(thread, 0, true, now);
        if (kind == format::kTaskwait) task->flags &= static_cast<uint16_t>(~kHasChildren);
        if (thread.tracing) thread.log.timed(format::kWaitEnd, kind, now);
    }
    task->flags &= static_cast<uint16_t>(~kWaiting);
    open_stretch(thread, format::kOpenWork);
}

void begin_lock(ThreadState &thread, uint32_t kind) {
    const uint64_t now = clock::now();
    close_open(thread, now);
    thread.last_creator = nullptr;
    if (thread.tracing) thread.log.timed(format::kMutexAcquire, kind, now);
}

void end_lock(ThreadState &thread, uint32_t kind) {
    const uint64_t now = clock::now();
    thread.region->slot->lock_ticks += now - thread.header->mark;
    close_stretch(thread, State::kSync, now);
    if (thread.tracing) thread.log.timed(format::kMutexAcquired, kind, now);
}

// ---------------------------------------------------------------- regions

void begin_region(ThreadState &thread, const void *address, void **parallel_data) {
    const uint64_t now = clock::now();
    close_open(thread, now);
    thread.last_creator = nullptr;
    format::RegionInstance *instance = process_log::take_instance();
    *parallel_data = instance;
    RegionContext *region = instance ? thread.push_region() : nullptr;
    if (!region) return;
    const uint32_t construct = process_log::construct_of_address(format::DefinitionKind::kParallel, address, 0);
    region->slot = thread.region_slot(construct, format::DefinitionKind::kParallel);
    region->instance = instance;
    region->construct = construct;
    region->begin = now;
    region->level = region->outer->level + 1;
    region->primary = true;
    instance->begin = now;
    instance->construct = construct;
    instance->level = region->level;
    instance->n_open = 1;
    instance->primary_thread = thread.index;
    instance->team_size = 1;
    instance->id = static_cast<uint64_t>(thread.index) << format::kThreadShift | ++thread.task_counter;
    if (region->slot->level == 0) region->slot->level = region->level;
    note_region(thread);
    open_stretch(thread, format::kOpenFork);
    if (thread.tracing) thread.log.timed(format::kRegionBegin, construct, now, instance->id, instance->level);
}

// Is the thread in this region, be it inside others that it leads?
static bool is_in(const ThreadState &thread, const format::RegionInstance *instance) {
    const RegionContext *region = thread.region;
    while (region && region->instance != instance) region = region->outer;
    return region != nullptr;
}

// The region that the thread entered last, whatever data the runtime names: libomp gives a nested team free, and its data
// to another region, before it tells that the region has ended; and inside a serialised league it names the outer one.
void end_region(ThreadState &thread) {
    if (!thread.region->primary) return;
    RegionContext *region = thread.region;
    format::RegionInstance *instance = region->instance;
    const uint64_t now = clock::now();
    close_open(thread, now);
    const uint64_t duration = now - region->begin;
    const uint64_t arrival = last_arrival(*region);
    format::RegionSlot &slot = *region->slot;
    slot.n_instances++;
    slot.n_primary++;
    slot.wall_ticks += duration;
    slot.capacity_ticks += duration * instance->team_size;
    if (instance->team_size > slot.max_team_size) slot.max_team_size = instance->team_size;
    if (thread.tracing)
        thread.log.timed(format::kRegionEnd, instance->team_size, now, instance->id,
                         arrival << 1 | (instance->has_tasks & 1));
    __atomic_store_n(&instance->end, now, __ATOMIC_RELEASE);
    thread.pop_region();
    thread.region->slot->nested_ticks += thread.region->instance ? duration : 0;
    note_region(thread);
    process_log::close_instance(instance);
    enter(thread, thread.current, now);
    process_log::renew_calibration();
}

static void leave_region(ThreadState &thread);

TaskState *begin_implicit(ThreadState &thread, format::RegionInstance *instance, uint32_t team_size) {
    close_ended_regions(thread);
    TaskState *task = thread.pool.take();
    if (!task) return nullptr;
    const uint64_t now = clock::now();
    task->flags = kImplicit | kStarted;
    task->id = static_cast<uint64_t>(thread.index) << format::kThreadShift | ++thread.task_counter;
    task->worked = 0;
    task->frame = task;
    task->local = nullptr;
    if (!instance) { // initial task: from here on the thread runs user code outside of every region
        task->construct = 0;
        task->context = &thread.outside;
        close_open(thread, now);
        if (thread.tracing) thread.log.timed(format::kImplicitBegin, team_size, now, 0);
    } else {
        if (!is_in(thread, instance)) { // a worker joins: until now it was on its way
            thread.header->mark = now;
            RegionContext *region = thread.push_region();
            if (!region) return nullptr;
            region->slot = thread.region_slot(instance->construct, format::DefinitionKind::kParallel);
            region->instance = instance;
            region->construct = instance->construct;
            region->begin = instance->begin;
            region->level = instance->level;
            region->slot->n_instances++;
            if (region->slot->level == 0) region->slot->level = region->level;
            __atomic_add_fetch(&instance->n_open, 1, __ATOMIC_RELAXED);
            note_region(thread);
            thread.header->mark = instance->begin;
            close_stretch(thread, State::kSync, now);
        } else {
            instance = thread.region->instance;
            if (thread.region->primary) instance->team_size = team_size;
            close_open(thread, now);
        }
        task->construct = instance->construct;
        task->context = thread.region;
        if (thread.tracing) thread.log.timed(format::kImplicitBegin, team_size, now, instance->id);
    }
    note_cpu(thread, cpu::current());
    task->below = thread.current;
    enter(thread, task, now);
    return task;
}

void end_implicit(ThreadState &thread, TaskState *task) {
    RegionContext *region = thread.region;
    const bool leads = region->primary || region->instance == nullptr || task->context == &thread.outside;
    if (leads) { // the primary, or the initial task of the thread
        const uint64_t now = clock::now();
        close_open(thread, now);
        open_stretch(thread, region->primary ? format::kOpenFork : format::kOpenNone);
        if (thread.tracing) thread.log.timed(format::kImplicitLeave, 0, now);
    } else {
        if (thread.tracing) thread.log.untimed(format::kImplicitEnd, 0);
        leave_region(thread);
        close_ended_regions(thread);
    }
    thread.current = task->below ? task->below : &thread.base_task;
    free_task(thread, task);
}

// Closes a worker's part of a region: a gap that ends when the region does.
static void close_part(ThreadState &thread, format::PendingPart &part, format::RegionInstance *instance, uint64_t end) {
    format::RegionSlot &slot = *thread.region_slot(part.region, format::DefinitionKind::kParallel);
    const uint64_t arrival = __atomic_load_n(&instance->last_arrival[(part.n_barriers - 1) & 1], __ATOMIC_ACQUIRE);
    const uint64_t split = arrival <= part.begin ? part.begin : arrival >= end ? end : arrival;
    const bool idle = instance->has_tasks && end > split && end - split > clock::from_ns(format::kExitNanoseconds);
    uint64_t *ticks = slot.state_ticks;
    if (end <
        part.begin) { // clocks are read up to tens of nanoseconds early: the way into the region was that much shorter
        ticks[static_cast<size_t>(State::kSync)] -= part.begin - end;
    } else {
        ticks[static_cast<size_t>(State::kIdle)] += split - part.begin + (idle ? end - split : 0);
        ticks[static_cast<size_t>(State::kSync)] += idle ? 0 : end - split;
    }
    part.sequence = 0;
    process_log::close_instance(instance);
}

// The worker leaves its region, which ends when its primary says so: after that the worker may be in another one, since
// runtimes give the members of a nested team free before they tell that the region has ended.
static void leave_region(ThreadState &thread) {
    RegionContext *region = thread.region;
    unsigned place = 0;
    while (place < format::kMaxPendingParts && thread.header->pending[place].sequence) place++;
    if (place == format::kMaxPendingParts) { // cannot be waited for any longer
        place = 0;
        close_part(thread, thread.header->pending[0], thread.pending_instances[0], clock::now());
    }
    format::PendingPart &part = thread.header->pending[place];
    part.instance = region->instance->index;
    part.begin = thread.header->mark;
    part.region = region->construct;
    part.n_barriers = region->n_barriers;
    thread.pending_instances[place] = region->instance;
    __atomic_store_n(&part.sequence, region->instance->sequence, __ATOMIC_RELEASE);
    open_stretch(thread, format::kOpenNone);
    thread.pop_region();
    note_region(thread);
}

void close_ended_regions(ThreadState &thread) {
    for (unsigned i = 0; i < format::kMaxPendingParts; i++) {
        format::PendingPart &part = thread.header->pending[i];
        if (part.sequence == 0) continue;
        const uint64_t end = __atomic_load_n(&thread.pending_instances[i]->end, __ATOMIC_ACQUIRE);
        if (end) close_part(thread, part, thread.pending_instances[i], end);
    }
}

// ---------------------------------------------------------------- brackets

void begin_creation(ThreadState &thread) {
    if (thread.header->open_state != format::kOpenWork || thread.current->creating) return;
    uint32_t weight = 1;
    if (thread.inline_period > 1) { // undeferred tasks too short to be timed one by one: their creation is sampled too
        if (thread.bracket_countdown > 1) {
            thread.bracket_countdown--;
            return;
        }
        weight = thread.bracket_countdown = thread.inline_period;
    }
    const uint64_t now = clock::now();
    close_work(thread, now);
    thread.current->creating = 1;
    thread.create_event = false;
    thread.create_weight = weight;
}

void close_creation(ThreadState &thread, uint64_t now) {
    const uint64_t ticks = now - thread.header->mark;
    close_stretch(thread, State::kCreate, now);
    thread.current->creating = 0;
    format::ConstructSlot *construct = thread.create_event ? thread.create_construct->slot : nullptr;
    if (construct) construct->create_ticks += ticks;
    if (thread.create_weight > 1) {
        thread.region->slot->create_weight += ticks * thread.create_weight;
        if (construct) construct->create_weight += ticks * thread.create_weight;
    }
    if (thread.tracing) {
        if (ticks < format::kArgumentLimit && thread.create_weight == 1) // its begin and its end in one word
            thread.log.timed(format::kCreateSpan, static_cast<uint32_t>(ticks), now);
        else
            thread.log.timed(format::kCreateSpanLong, thread.create_weight, now, ticks);
    }
}

void end_creation(ThreadState &thread) {
    if (!thread.current->creating) return;
    close_creation(thread, clock::now());
    open_stretch(thread, format::kOpenWork);
}

} // namespace ompass
