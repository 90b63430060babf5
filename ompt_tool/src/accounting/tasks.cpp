// SPDX-License-Identifier: Apache-2.0
// The slow paths of undeferred tasks, and deferred tasks from creation to completion.
#include "accounting/tasks.h"

#include <algorithm>

#include "log/process_log.h"

namespace ompass {

namespace {

constexpr uint32_t kLongestPeriod = 256;
constexpr uint32_t kConsider = 32; // timed tasks between two adjustments of the period

// Returns kSampleBelowNanoseconds in ticks.
uint64_t short_ticks() {
    static const uint64_t ticks = clock::from_ns(format::kSampleBelowNanoseconds);
    return ticks;
}

// Returns a random distance to the next timed task. A fixed distance could coincide with a cycle of the program.
uint32_t draw_distance(ThreadState &thread, const TaskConstruct &construct) {
    if (construct.period == 1) return 1;
    thread.random ^= thread.random << 13;
    thread.random ^= thread.random >> 17;
    thread.random ^= thread.random << 5;
    return construct.period / 2 + thread.random % construct.period;
}

void draw_next_timed(ThreadState &thread, TaskConstruct &construct) {
    const uint32_t distance = draw_distance(thread, construct);
    format::ConstructSlot &slot = *construct.slot; // invariant: n_drawn + weight - countdown == begun tasks
    slot.n_drawn += slot.weight;
    slot.weight = slot.countdown = distance;
}

// Lengthens the period if most tasks are short, and shortens it if few are.
void adjust_period(TaskConstruct &construct, uint64_t ticks) {
    construct.n_short += ticks < short_ticks();
    if (++construct.n_recent < kConsider) return;
    if (construct.n_short * 4 >= kConsider * 3)
        construct.period = construct.period >= kLongestPeriod ? kLongestPeriod : construct.period * 4;
    else if (construct.n_short * 4 < kConsider)
        construct.period = construct.period > 4 ? construct.period / 4 : 1;
    construct.n_recent = construct.n_short = 0;
}

// Decides whether this construct's tasks are so short that creations in them need no clock reading of their own.
void update_coarse(TaskConstruct &construct, uint64_t ticks) {
    static const uint64_t limit = clock::from_ns(format::kCoarseBelowNanoseconds);
    construct.n_coarse += ticks < limit ? 1 : ~0u; // a long task cancels a short one
    if (construct.n_coarse > 2 * kConsider) construct.n_coarse = ticks < limit ? 2 * kConsider : 0;
    construct.is_coarse = construct.n_coarse >= kConsider;
}

// Returns the time at which the task became ready: its creation, or the end of its last predecessor. Stores that
// predecessor's construct in `last`.
uint64_t ready_time(const TaskState &task, uint32_t &last) {
    uint64_t ready = task.ready;
    for (unsigned i = 0; i < std::min<unsigned>(task.n_predecessors, kMaxPredecessors); i++) {
        const auto &predecessor = task.predecessors[i];
        const uint64_t end = predecessor.task->end;
        const uint32_t construct = predecessor.task->construct;
        if (predecessor.task->id == predecessor.id && end > ready) ready = end, last = construct;
    }
    return ready;
}

// Counts a held task by the domain where it was placed. Returns true if the task runs in another domain.
bool count_domains(ThreadState &thread, const TaskState &task) {
    const uint32_t home = task.home - 1, here = thread.held.domain - 1;
    format::RegionSlot &slot = *thread.region->slot;
    if (slot.domain != thread.held.domain) slot.domain = thread.held.domain;
    slot.n_from_domain[home < format::kDomainCounts ? home : format::kDomainCounts - 1] += thread.counting;
    slot.n_rescued += thread.counting & thread.announced.is_rescue;
    if (thread.tracing) {
        if (thread.held.traced_domain != thread.held.domain) thread.log.untimed(format::kDomain, here);
        thread.held.traced_domain = thread.held.domain;
        if (home != here) thread.log.untimed(format::kPlaced, home << 1 | thread.announced.is_rescue);
    }
    return home != here;
}

// Closes the open state interval when a task that was ready at `ready` starts or resumes. Returns the idle time before
// `ready`.
uint64_t leave_for(ThreadState &thread, uint64_t ready, uint64_t now) {
    if (thread.header->open_state == format::kOpenGap) return close_gap_before_task(thread, ready, now);
    close_open(thread, now);
    return 0;
}

// Counts the wait of a starting task for its last predecessor. `delay`: from its creation to the predecessor's end;
// `idle`: the idle time of its thread before that end.
[[gnu::noinline]] void count_dependence(ThreadState &thread, TaskConstruct &construct, uint32_t predecessor,
                                        uint64_t delay, uint64_t idle) {
    if (!construct.dependence)
        construct.dependence = &thread.places.wait_of(process_log::construct_of_address(
            format::DefinitionKind::kWait, process_log::at(construct.id), format::kDependenceWait));
    format::WaitSlot &wait = *construct.dependence;
    wait.n_waits++;
    wait.n_long += delay > thread.exit_ticks;
    wait.delay_ticks += delay;
    if (delay > wait.max_ticks) wait.max_ticks = delay;
    format::gap_ticks(wait, State::kIdle) += idle;
    format::count_waited_for(wait, predecessor, delay);
    if (thread.tracing) thread.log.untimed(format::kWaitedFor, predecessor);
}

} // namespace

// ---------------------------------------------------------------- undeferred tasks that are timed

void trace_uncoded_begin(ThreadState &thread, TaskConstruct &construct) {
    if (construct.inline_code != format::kInlineCodes) construct.inline_code = thread.log.new_inline_code(construct.id);
    if (construct.inline_code < format::kInlineCodes) {
        construct.light_counters.begin = format::kInlineOpBegin + construct.inline_code;
        thread.log.inline_begin(construct.inline_code);
    } else {
        thread.log.untimed(format::kInlineBegin, construct.id);
    }
}

void begin_inline_slowly(ThreadState &thread, TaskState *task) {
    TaskConstruct *construct = task->local;
    if (thread.work.is_timed) end_timed(thread);
    const bool timed = --construct->slot->countdown == 0 && thread.counting;
    uint64_t now = 0;
    if (timed || thread.current->creating) {
        now = clock::now();
        if (thread.current->creating) {
            thread.creation.construct = construct;
            thread.creation.reported = true;
        }
        close_open(thread, now);
        open_interval(thread, format::kOpenWork);
    }
    if (timed) {
        task->flags |= kTimed;
        task->worked = task->owner->worked;
        task->weight = construct->slot->weight;
        draw_next_timed(thread, *construct);
        begin_timed(thread, task->weight);
        if (thread.tracing) thread.log.timed(format::kInlineBeginTimed, construct->id, now);
    } else {
        thread.work.dirty = true;
        if (thread.tracing) trace_inline_begin(thread, *construct);
    }
    thread.current = task;
}

void end_inline_slowly(ThreadState &thread, TaskState *task) {
    if (thread.work.is_timed) end_timed(thread);
    if (task->flags & kTimed) {
        const uint64_t now = clock::now();
        close_work(thread, now);
        const uint64_t ticks = task->owner->worked - task->worked;
        count_duration(*task->local->slot, ticks, task->weight);
        adjust_period(*task->local, ticks);
        begin_timed(thread, task->weight);
        if (thread.tracing) thread.log.timed(format::kInlineEndTimed, task->local->id, now);
    } else {
        thread.work.dirty = true;
        if (thread.tracing) thread.log.inline_end();
    }
    if (task->flags & (kHasChildren | kHasDescendants)) task->below->flags |= kHasDescendants;
    *thread.n_tasks += thread.counting & !(task->flags & kUncounted);
    thread.current = task->below;
    task->owner = nullptr;
    task->flags = kOver;
    thread.pool.give_back(task);
}

void convert_inline(ThreadState &thread, TaskState *task) {
    if (thread.work.is_timed) end_timed(thread);
    note_child(*task->below);
    task->construct = task->local->id;
    task->id = 0;
    task->worked = 0;
    if (task->owner) task->owner = task; // it may be on no stack
    task->local->slot->n_converted++;
}

// ---------------------------------------------------------------- creations in wrappers

// True if the creations in this timed task represent the creations in other tasks.
static bool represents_light(const ThreadState &thread, const TaskState &task) {
    return !(task.flags & kInline) || (task.flags & kLight && !thread.has_counters && is_alone(thread));
}

static void note_begin(ThreadState &thread, uint32_t weight) {
    thread.creation.begin = clock::now();
    thread.current->creating = 1;
    thread.creation.reported = false;
    thread.creation.weight = weight;
}

// Begins a creation where only some creations are timed, or counters are read.
[[gnu::noinline]] static void begin_creation_slowly(ThreadState &thread) {
    uint32_t weight = 1;
    bool may_be_left_out = true;
    if (thread.current->flags & kTimedOrUntimed) {
        if (thread.current->flags & kUntimed) return;
        if (represents_light(thread, *thread.current)) {
            weight = thread.current->weight;
            may_be_left_out = !(thread.current->flags & kInline);
        }
    }
    // Undeferred tasks are too short to be timed one by one, and so are their creations.
    if (thread.creation.inline_period > 1 && may_be_left_out) {
        if (thread.creation.left_out) return;
        if (thread.creation.countdown > 1) {
            thread.creation.countdown--;
            thread.creation.left_out = true;
            return;
        }
        weight = thread.creation.countdown = thread.creation.inline_period;
    }
    note_begin(thread, weight);
    // Counters must be read where the work ends, so this closes the interval now.
    if (thread.has_counters) close_work(thread, thread.creation.begin);
}

void begin_new_creation(ThreadState &thread) {
    if (__builtin_expect(
            thread.current->flags & kTimedOrUntimed || thread.creation.inline_period > 1 || thread.has_counters, 0))
        return begin_creation_slowly(thread);
    note_begin(thread, 1);
}

// ---------------------------------------------------------------- deferred tasks

void create_deferred(ThreadState &thread, TaskState *task, TaskConstruct *construct, uint32_t home) {
    // Reads the clock only if no known time is close enough. The known time is
    // - in the wrapper of a single creation, the start of the wrapper
    // - if the creator is untimed or its construct is_coarse, the start of the taskloop's wrapper; outside of wrappers,
    //   the thread's last event, which may be a creation that read the clock
    // A creation that begin_creation() may leave out reads the clock even if the construct is_coarse. Otherwise readers
    // would take its time from the create_span that follows, which belongs to another creation.
    TaskState *creator = thread.current;
    const bool wrapped = creator->creating && thread.wrapper.loop_task != creator;
    const bool left_out = !creator->creating && thread.creation.inline_period > 1;
    const bool known =
        wrapped || is_untimed_deferred(*creator) || (creator->local && creator->local->is_coarse && !left_out);
    const uint64_t now = !known ? clock::now()
                         : creator->creating
                             ? thread.creation.begin
                             : std::max({thread.header->mark, thread.last_inner_event, thread.previous.time});
    if (has_off_cpu(thread, now)) update_off_cpu(thread, now); // its records must come first
    task->id = thread.new_id();
    task->ready = now;
    const uint32_t cpu = cpu::current();
    task->creator_cpu = static_cast<uint16_t>(cpu);
    task->home = home;
    note_cpu(thread, cpu);
    construct->slot->n_deferred++;
    thread.region->slot->n_created += thread.counting;
    note_child(*creator);
    if (thread.region->instance && !thread.region->instance->has_tasks) thread.region->instance->has_tasks = 1;
    if (!known) {
        if (thread.previous.creator == creator && clock::has_run_since(thread.previous.time))
            process_log::note_create_gap(now - thread.previous.time);
        thread.previous.creator = creator;
        thread.previous.time = now;
    }
    thread.creation.reported = true;
    thread.creation.construct = construct;
    thread.creation.inline_period = 1;
    thread.creation.left_out = false;
    if (thread.tracing) {
        if (known)
            thread.log.create_untimed(construct->id);
        else
            thread.log.timed(format::kCreate, construct->id, now);
    }
}

void note_dependence(ThreadState &thread, const TaskState &before, TaskState &after) {
    after.predecessors[after.n_predecessors % kMaxPredecessors] = {&before, before.id};
    // From kMaxPredecessors on, the ring is full, and only the remainder matters.
    if (++after.n_predecessors == 2 * kMaxPredecessors) after.n_predecessors = kMaxPredecessors;
    if (thread.tracing) thread.log.untimed(format::kDependence, 0, before.id, after.id);
}

// Makes a part of an untied task for this thread; returns `task` if memory is exhausted. Undeferred children of other
// parts may have created tasks, so every taskgroup of the part counts as one with descendants.
static TaskState *take_part(ThreadState &thread, TaskState *task, TaskConstruct *construct) {
    TaskState *part = thread.pool.take();
    if (!part) return task;
    part->id = task->id;
    part->construct = task->construct;
    part->flags = static_cast<uint16_t>(kPart | kStarted | kHasDescendants | (task->flags & kHasChildren));
    part->local = construct;
    part->ready = 0;
    part->worked = 0;
    part->whole = task;
    return part;
}

// Gives back the state of a part that leaves the stack.
static void free_part(ThreadState &thread, TaskState *part) {
    if (part->flags & kListed) thread.parts.remove(part);
    part->flags = kOver;
    part->owner = nullptr;
    part->id = 0;
    thread.pool.give_back(part);
}

// Returns the time at which a suspended task was queued again. `entry`: the task, or its part on the stack.
static uint64_t requeue_time(const TaskState &entry) {
    if (entry.flags & kInline) return 0;
    return entry.flags & kPart ? entry.whole->ready : entry.ready;
}

// Returns the time at which the thread leaves its current task, usually the present time. But the current part may have
// ended without a report, and another thread may have completed the task since then (leave_ended_part()). In that case
// the current part ended before the part that completed the task began.
static uint64_t time_of_leaving(const ThreadState &thread) {
    const TaskState &top = *thread.current;
    const uint64_t now = clock::now();
    if (__builtin_expect(!(top.flags & kPart), 1)) return now;
    const TaskState &task = *top.whole;
    if (task.id == top.id && !is_over(task)) return now;
    uint64_t end = __atomic_load_n(&task.end, __ATOMIC_RELAXED); // of a later task if the state is in use again
    if (task.id == top.id) end -= clock::from_ns(2); // a task with dependences: its completion
    if (const format::RegionInstance *instance = thread.region->instance)
        if (const uint64_t region_end = __atomic_load_n(&instance->end, __ATOMIC_ACQUIRE))
            end = std::min(end, region_end);
    // Events without a task, such as a fulfilment, may have followed in the part.
    end = std::max({end, thread.header->mark, thread.last_inner_event});
    if (thread.tracing) end = std::max(end, thread.log.time());
    return std::min(end, now);
}

// Ends a part of a task that was queued again. By now another thread may have resumed and completed the task.
static void leave_part(ThreadState &thread, TaskState *part, uint64_t now) {
    TaskState *task = part->whole;
    if (task->id == part->id) {
        __atomic_fetch_add(&task->worked, part->worked, __ATOMIC_RELAXED);
        task->ready = now;
    } else { // the task's duration was counted without this part
        part->local->slot->inclusive_ticks += part->worked;
    }
    free_part(thread, part);
}

// Returns `task` or its part on this thread's stack; null if there is none.
static TaskState *find_on_stack(const ThreadState &thread, TaskState *task) {
    if (task->owner && task->stack == thread.index) return task;
    return runs(thread, task) ? thread.current : thread.parts.find(*task);
}

// Makes `entry`, which is on the thread's stack, the top of that stack. The tasks above it were queued again and leave
// the stack. Each step removes a task, so all calls together take at most one step per task put on the stack. In the
// child of a fork, `entry` may be the state of a task of the parent.
static void unwind_to(ThreadState &thread, TaskState *top, TaskState *entry, uint64_t now) {
    while (top != entry && top->below && top->owner) {
        TaskState *above = top;
        top = top->below;
        if (above->flags & kPart) {
            leave_part(thread, above, now);
            continue;
        }
        above->owner = nullptr;
        if (above->flags & kWaiting) above->wait_begin = above->wait->id; // this thread's log may end before the task
    }
    if (top != entry) entry->below = &thread.base_task;
}

// Adds flags to a task that starts. Clears the bits of kAdopted and kSubmitted, which mean other flags from now on.
static void set_started(TaskState &task, uint16_t flags) {
    task.flags = static_cast<uint16_t>((task.flags | flags) & ~(kAdopted | kSubmitted));
}

void start_task(ThreadState &thread, TaskState *task, uint64_t now) {
    uint32_t predecessor = 0;
    const uint64_t ready = ready_time(*task, predecessor);
    const uint64_t idle = leave_for(thread, ready, now);
    thread.previous.creator = nullptr;
    TaskConstruct *construct = thread.constructs.of(task->construct);
    if (__builtin_expect(predecessor != 0, 0))
        count_dependence(thread, *construct, predecessor, ready - task->ready, idle);
    format::ConstructSlot &slot = *construct->slot;
    const uint64_t waited = now > ready ? now - ready : 0;
    slot.n_ready++;
    slot.ready_ticks += waited;
    if (waited > slot.ready_max_ticks) slot.ready_max_ticks = waited;
    const uint32_t cpu = cpu::current();
    note_cpu(thread, cpu);
    slot.n_other_thread += task->creator != thread.index || task->flags & kAdopted;
    uint64_t moved = 0;
    if (cpu != task->creator_cpu) {
        const cpu::Place here = cpu::places[cpu], there = cpu::places[task->creator_cpu];
        if (here.core != there.core) slot.n_other_core++, moved |= format::kOtherCore;
        if (here.domain != there.domain && !task->home) slot.n_other_domain++, moved |= format::kOtherDomain;
    }
    if (task->home && count_domains(thread, *task)) slot.n_other_domain++, moved |= format::kOtherDomain;
    if (thread.tracing) {
        if (!task->home && thread.held.traced_domain) thread.log.untimed(format::kPlaced, format::kPlacedNowhere);
        if (task->n_predecessors)
            thread.log.timed(format::kStartReady, task->construct, now, task->id | moved, waited);
        else
            thread.log.start(task->construct, task->id, moved, thread.latest_id(), now);
    }
    task->worked = 0;
    set_started(*task, kStarted);
    if (task->flags & kUntied) {
        task = take_part(thread, task, construct);
        if (task->flags & kPart) task->ready = now;
    } else {
        task->local = construct;
    }
    put_on_stack(thread, task, task);
    thread.current = task;
    open_interval(thread, format::kOpenWork);
    thread.header->open_construct = construct->id;
}

void start_first_part(ThreadState &thread) {
    TaskState *task = std::exchange(thread.first_part.task, nullptr);
    thread.seen_switch = thread.first_part.seen_switch;
    if (task->id != thread.first_part.id || task->flags & kStarted) return; // another thread has started it
    thread.constructs.of(task->construct)->n_empty_parts = 0;
    start_task(thread, task, clock::now());
}

void start_at_hand(ThreadState &thread, TaskState *task, uint64_t known) {
    TaskConstruct &construct = *thread.constructs.of(task->construct);
    const bool may_skip = thread.times_light && thread.counting && construct.period > 1 &&
                          task->creator == thread.index && task->home == thread.held.domain &&
                          !(task->flags & (kUntied | kDependent));
    uint32_t &n_left = construct.light_counters.n_left;
    if (may_skip && n_left > 1) {
        n_left--;
        return begin_untimed(thread, task, construct);
    }
    start_task(thread, task, known ? known : clock::now());
    if (construct.period == 1) n_left = 0;
    if (!may_skip) return;
    if (n_left == 1) {
        task->flags |= kTimed;
        task->weight = construct.weight;
    }
    n_left = draw_distance(thread, construct);
    construct.weight = static_cast<uint16_t>(n_left);
}

void begin_untimed(ThreadState &thread, TaskState *task, TaskConstruct &construct) {
    thread.region->slot->n_from_domain[std::min(task->home - 1, format::kDomainCounts - 1)]++;
    set_started(*task, kStarted | kUntimed);
    task->local = &construct;
    put_on_stack(thread, task, task);
    thread.current = task;
    // The interval begins at the last event, because finding the task took almost no time.
    open_interval(thread, format::kOpenWork);
}

void begin_untimed_inline(ThreadState &thread, TaskState *task, TaskConstruct &construct) {
    task->flags |= kStarted | kUntimed;
    if (!thread.counting) { // the extension has counted its start; its end is not counted
        construct.real_slot->n_converted++;
        task->flags |= kUncounted;
    }
    task->local = &construct;
    put_on_stack(thread, task, thread.current->owner);
    thread.current = task;
}

void end_untimed(ThreadState &thread, TaskState *task) {
    task->local->slot->n_completed++;
    *thread.n_tasks += thread.counting;
    thread.current = task->below;
    thread.work.dirty = true;
    leave_timed(thread);
    free_task(thread, task);
}

// Continues with a task on the stack. Outside of all tasks and regions, only the first thread runs user code. Other
// threads are there as free agents, which wait for the next task.
static void enter_below(ThreadState &thread, TaskState *task, uint64_t now) {
    enter(thread, task, now);
    if (task == &thread.base_task && thread.index != 0 && thread.region == &thread.regions.outside)
        open_interval(thread, format::kOpenNone);
}

// True if `top`, `entry` or a task between them is undeferred. `entry` is below `top` on the stack.
static bool is_undeferred_between(const TaskState *top, const TaskState *entry) {
    while (top && top != entry && !(top->flags & kInline)) top = top->below;
    return top && top->flags & kInline;
}

// Records that the thread continues with `entry`, a task or its part that was ready at `ready`.
static void trace_resume(ThreadState &thread, const TaskState &entry, uint64_t ready, uint64_t now) {
    if (!thread.tracing) return;
    const uint64_t waited = now > ready && !(entry.flags & kInline) ? now - ready : 0;
    thread.log.timed(format::kResume, entry.local ? entry.local->id : 0, now, traced_id(entry),
                     waited << 1 | (entry.flags & kWaiting ? 1 : 0));
}

// Ends the undeferred tasks above `entry`, which is on the stack, because such tasks end before their creators resume.
// A trace cannot name an undeferred task, so only the top task can end. Suspends the tasks above each undeferred task
// one by one.
static void end_undeferred_above(ThreadState &thread, const TaskState *entry) {
    const TaskState *last = nullptr;
    for (const TaskState *above = thread.current; above && above != entry; above = above->below)
        if (above->flags & kInline) last = above;
    for (bool is_last = !last; !is_last;) {
        TaskState *top = thread.current;
        is_last = top == last;
        if (top->flags & kInline)
            end_inline(thread, top);
        else
            resume_task(thread, top->below);
    }
}

void resume_task(ThreadState &thread, TaskState *task) {
    TaskState *entry = find_on_stack(thread, task);
    if (entry) end_undeferred_above(thread, entry);
    const uint64_t now = time_of_leaving(thread);
    TaskState *top = thread.current;
    const uint64_t ready = requeue_time(*task);
    leave_for(thread, ready, now);
    thread.previous.creator = nullptr;
    if (entry) {
        unwind_to(thread, top, entry, now);
    } else {
        entry = task->flags & kUntied ? take_part(thread, task, thread.constructs.of(task->construct)) : task;
        put_on_stack(thread, entry, entry);
        entry->flags &= static_cast<uint16_t>(~kPassed);
        if (!(task->flags & (kUntied | kImplicit | kInline))) entry->local = thread.constructs.of(task->construct);
        if (entry->flags & kWaiting) { // a new wait in statistics and trace
            entry->wait = &thread.places.wait_of(static_cast<uint32_t>(entry->wait_begin));
            entry->wait_begin = now;
            if (thread.tracing) trace_place(thread, *entry->wait);
        }
    }
    trace_resume(thread, *entry, ready, now);
    enter_below(thread, entry, now);
}

// Counts empty first parts in a row, when a part leaves the stack.
static void count_empty_parts(ThreadState &thread, const TaskState &part, uint64_t now) {
    if (part.ready == 0) return;
    const uint64_t begin = thread.header->mark;
    const bool is_empty = part.ready == begin && thread.last_inner_event < begin && now - begin < short_ticks() &&
                          !thread.work.dirty && !part.creating;
    uint8_t &n_empty = part.local->n_empty_parts;
    n_empty = is_empty ? std::min<uint8_t>(n_empty + 1, kEmptyParts) : 0;
}

void step_back(ThreadState &thread) {
    TaskState *top = thread.current, *below = top->below;
    if (!below) return;
    if (!(top->flags & kPart)) return resume_task(thread, below);
    const uint64_t now = time_of_leaving(thread), ready = requeue_time(*below);
    count_empty_parts(thread, *top, now);
    leave_for(thread, ready, now);
    thread.previous.creator = nullptr;
    leave_part(thread, top, now);
    trace_resume(thread, *below, ready, now);
    enter_below(thread, below, now);
}

void leave_ended_part(ThreadState &thread) {
    TaskState *below = thread.current->below;
    const bool is_creating = std::exchange(thread.current->creating, 0); // by the wrapper of the task below
    step_back(thread);
    if (!is_creating || below->flags & kWaiting) return;
    thread.creation.begin = std::max(thread.creation.begin, thread.header->mark);
    below->creating = 1;
}

// Publishes the end of a task for threads that wait for it. `sequence`: the sequence of the region's instance.
static void note_end(ThreadState &thread, uint64_t sequence, uint32_t construct, uint64_t now) {
    thread.last_ended.what.store(sequence << format::kConstructBits | construct, std::memory_order_relaxed);
    thread.last_ended.time.store(now, std::memory_order_relaxed);
}

void complete_task(ThreadState &thread, TaskState *task, TaskState *next, uint32_t status) {
    const uint64_t now = clock::now(), last_begin = thread.header->mark;
    TaskState *entry = thread.current;
    close_open(thread, now);
    thread.previous.creator = nullptr;
    format::ConstructSlot &slot = *entry->local->slot;
    if (!(task->flags & kInline)) { // the duration of a converted undeferred task is unknown
        const uint64_t worked = entry == task ? task->worked : task->worked + entry->worked;
        const bool is_whole = thread.counting && !(entry->flags & kPassed); // false: a pause hid a part of its work
        if (__builtin_expect(task->flags & kLight, 0)) {
            count_duration(slot, worked, task->flags & kTimed ? task->weight : 1);
            if (thread.times_light && is_whole) adjust_period(*entry->local, worked);
        } else {
            count_duration(slot, worked, 1);
        }
        if (is_whole) update_coarse(*entry->local, worked);
    }
    TaskState *below = entry->below ? entry->below : &thread.base_task;
    if (below->flags & kLight) next = below;
    TaskState *on_stack = next && next != task ? find_on_stack(thread, next) : below;
    if (on_stack != below && on_stack && is_undeferred_between(below, on_stack)) on_stack = nullptr; // resumed last
    if (thread.tracing) {
        if (!on_stack || on_stack == below)
            thread.log.complete(status, now);
        else
            thread.log.timed(format::kCompleteTo, status, now, traced_id(*on_stack));
    }
    if (task->flags & kDependent)
        task->end = now;
    else if (task->flags & kUntied) // see time_of_leaving()
        __atomic_store_n(&task->end, last_begin, __ATOMIC_RELAXED);
    *thread.n_tasks += thread.counting;
    if (entry != task) free_part(thread, entry);
    note_end(thread, thread.header->open_sequence, slot.id, now);
    if (__builtin_expect(status == format::kStatusDetach, 0)) {
        slot.n_detached++;
        task->owner = nullptr;
        task->flags = static_cast<uint16_t>((task->flags & ~kInline) | kDetached);
        task->end = now;
        task->detached_in = thread.header->open_sequence;
    } else {
        slot.n_completed++;
        free_task(thread, task);
    }
    if (on_stack) unwind_to(thread, below, on_stack, now);
    enter_below(thread, on_stack ? on_stack : below, now);
    if (!on_stack) resume_task(thread, next);
}

void discard_task(ThreadState &thread, TaskState *task) {
    thread.constructs.of(task->construct)->slot->n_cancelled++;
    if (thread.tracing) thread.log.untimed(format::kDiscard, task->construct, task->id);
    free_task(thread, task);
}

// True if the thread is in the team whose region instance has this sequence.
static bool is_in_team(const ThreadState &thread, uint64_t sequence) {
    for (const EnteredRegion *region = thread.region; region; region = region->outer)
        if (region->instance && region->instance->sequence == sequence) return true;
    return false;
}

void fulfill_task(ThreadState &thread, TaskState *task) {
    const uint64_t now = clock::now(), ticks = now > task->end ? now - task->end : 0;
    const bool outside = task->detached_in ? !is_in_team(thread, task->detached_in) : task->creator != thread.index;
    format::ConstructSlot &slot = *thread.constructs.of(task->construct)->slot;
    slot.n_completed++;
    slot.n_events_fulfilled++;
    slot.n_events_outside += outside;
    slot.event_ticks += ticks;
    if (ticks > slot.event_max_ticks) slot.event_max_ticks = ticks;
    note_end(thread, task->detached_in, task->construct, now);
    thread.last_inner_event = now;
    if (thread.tracing) thread.log.timed(format::kFulfillTimed, task->construct, now, task->id, ticks << 1 | outside);
    task->end = now;
    free_task(thread, task);
}

} // namespace ompass
