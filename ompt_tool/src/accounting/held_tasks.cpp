// SPDX-License-Identifier: Apache-2.0
// Translates the reports of libomp_ext.so on held tasks into calls of the accounting functions. OMPT reports the
// creation of a held task only when the task begins to run. The extension announces this late report, and the tool
// handles it as the start of the task. OMPT does not report light tasks.
#include "accounting/held_tasks.h"

#include <cstddef>
#include <dlfcn.h>
#include <utility>

#include "accounting/calls.h"
#include "accounting/waits.h"
#include "omp_ext_tool.h"

namespace ompass::held_tasks {

namespace {

constexpr uint32_t kComplete = 1; // ompt_task_complete
constexpr int kUndeferred = 0x08000000; // ompt_task_undeferred

void creation_begins() {
    if (ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true)) begin_creation(*thread);
}

void creation_ends() {
    if (ThreadState *thread = recorder::thread()) end_creation(*thread);
}

void *task_created(const void *code, int flags, int has_dependences, int domain) {
    ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true);
    if (!thread) return nullptr;
    code = wrapped_address(*thread, code);
    TaskState *task = thread->pool.take();
    if (!task) return nullptr;
    TaskConstruct *construct = thread->constructs.at(place_of_call(*thread, code), static_cast<uint32_t>(flags));
    if (thread->times_light) thread->light_counters.by_code[omp_ext_place_of(code)] = &construct->light_counters;
    task->construct = construct->id;
    task->flags = has_dependences ? kDependent : 0;
    create_deferred(*thread, task, construct, static_cast<uint32_t>(domain) + 1);
    return task;
}

void task_depends(void *before_task, void *after_task) {
    ThreadState *thread = recorder::thread();
    const auto *before = static_cast<const TaskState *>(before_task);
    auto *after = static_cast<TaskState *>(after_task);
    if (!thread || !before || !after) return;
    note_dependence(*thread, *before, *after);
}

void task_starts(void *task, int domain, int how) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    thread->announced.kind = task ? Announcement::kHeldTask : Announcement::kNoTask;
    thread->announced.task = static_cast<TaskState *>(task);
    thread->announced.is_rescue = how == OMP_EXT_RESCUED;
    thread->held.domain = static_cast<uint32_t>(domain) + 1;
}

void undeferred_starts(const void *code) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    thread->announced.kind = Announcement::kAddress;
    thread->announced.address = code;
}

// True if the thread has done nothing since its last recorded event. The caller then uses the time of that event
// and does not read the clock.
bool has_time_of_last(const ThreadState *thread, int flags) {
    return (flags & OMP_EXT_AT_ONCE) && thread && thread->seen_switch == recorder::current_switch();
}

void task_begins(void *seen, int domain, int how) {
    const bool at_once = has_time_of_last(recorder::this_thread, how);
    ThreadState *thread = recorder::thread();
    auto *task = static_cast<TaskState *>(seen);
    if (!thread || !task) return;
    task->flags |= kLight;
    if (how & OMP_EXT_RUNS) {
        TaskConstruct &construct = *thread->constructs.of(task->construct);
        return (task->flags & kInline ? begin_untimed_inline : begin_untimed)(*thread, task, construct);
    }
    thread->announced.is_rescue = how & OMP_EXT_RESCUED;
    thread->held.domain = static_cast<uint32_t>(domain) + 1;
    // A gap begins with a clock reading. In other states, the last event may have read no clock.
    const bool is_known = at_once && thread->header->open_state == format::kOpenGap;
    const uint64_t known = is_known ? thread->header->mark : 0;
    if (how & OMP_EXT_AT_HAND) return start_at_hand(*thread, task, known);
    start_task(*thread, task, known ? known : clock::now());
}

void *undeferred_begins(const void *code, int flags) {
    ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true);
    if (!thread) return nullptr;
    if (thread->wrapper.is_open) code = wrapped_address(*thread, code);
    TaskConstruct *construct = thread->constructs.at(place_of_call(*thread, code), static_cast<uint32_t>(flags));
    TaskState *task = thread->pool.take();
    if (!task) return nullptr;
    if (!thread->has_counters) thread->light_counters.by_code[omp_ext_place_of(code)] = &construct->light_counters;
    task->local = construct;
    task->flags = kInline | kLight;
    begin_inline(*thread, task);
    return task;
}

void task_ends(void *seen) {
    ThreadState *thread = recorder::thread();
    auto *task = static_cast<TaskState *>(seen);
    if (!thread || !task || !(task->flags & kStarted)) return;
    // In the child of a fork, the task may not be current.
    if (is_untimed_deferred(*task) && task == thread->current) return end_untimed(*thread, task);
    finish_task(*thread, task, nullptr, kComplete);
}

// True if the thread runs untimed tasks from its own queue, in a wait of its current task.
bool has_tasks_at_hand(const ThreadState &thread) {
    return thread.current->flags & kHeldWait && thread.header->open_state == format::kOpenWork;
}

void wait_begins(int kind) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    if (has_tasks_at_hand(*thread)) return begin_gap(*thread);
    if (thread->current->flags & kWaiting) return;
    const bool at_once = kind & OMP_EXT_AT_ONCE;
    kind &= ~OMP_EXT_AT_ONCE;
    if (at_once && is_untimed_deferred(*thread->current))
        begin_untimed_wait(*thread, static_cast<uint32_t>(kind));
    else
        begin_wait(*thread, static_cast<uint32_t>(kind), nullptr);
    thread->current->flags |= kHeldWait;
}

void wait_ends(int kind) {
    const bool at_once = has_time_of_last(recorder::this_thread, kind);
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    const bool was_at_hand = kind & OMP_EXT_AT_ONCE || has_tasks_at_hand(*thread);
    kind &= ~OMP_EXT_AT_ONCE;
    if (was_at_hand && thread->current->flags & kHeldWait && is_untimed_deferred(*thread->current))
        return end_untimed_wait(*thread);
    if (has_tasks_at_hand(*thread)) begin_gap(*thread);
    if (thread->current->flags & kHeldWait)
        (at_once ? end_wait_at_once : end_wait)(*thread, static_cast<uint32_t>(kind));
}

void steal_begins() {
    if (ThreadState *thread = recorder::thread()) thread->held.steal_begin = clock::now();
}

void steal_ends(int succeeded) {
    ThreadState *thread = recorder::thread();
    if (!thread || !thread->counting) return;
    const uint64_t now = clock::now();
    uint64_t ticks = now - thread->held.steal_begin;
    if (ticks >= format::kArgumentLimit / 2) ticks = format::kArgumentLimit / 2 - 1; // the thread was preempted
    format::RegionSlot &slot = *thread->region->slot;
    (succeeded ? slot.n_steals : slot.n_failed_steals)++;
    (succeeded ? slot.steal_ticks : slot.failed_steal_ticks) += ticks;
    if (thread->tracing) thread->log.timed(format::kSteal, static_cast<uint32_t>(ticks << 1 | (succeeded != 0)), now);
}

// ---------------------------------------------------------------- tasks that are only counted

void append_to_order(uint32_t what) { recorder::this_thread->log.append_op(what); }

omp_ext_counters *counters() {
    ThreadState *thread = recorder::this_thread;
    if (!thread || thread->has_counters || !thread->counting) return nullptr;
    TaskState &task = *thread->current;
    if ((task.flags & (kInline | kLight | kTimed)) == (kInline | kLight) && is_alone(*thread)) task.flags |= kUntimed;
    if (!(task.flags & kUntimed)) return nullptr;
    static_assert(sizeof recorder::run_switch == sizeof(uint32_t) &&
                  decltype(recorder::run_switch)::is_always_lock_free);
    omp_ext_counters &counters = thread->light_counters;
    aim_light_counters(*thread);
    counters.now = reinterpret_cast<const uint32_t *>(&recorder::run_switch);
    switch_light_counters(*thread);
    counters.n_waits = &thread->places.wait(nullptr, format::kTaskwait).n_waits;
    counters.time = &thread->header->mark;
    counters.is_mixed = &thread->work.dirty;
    counters.order = thread->tracing ? &thread->log.order() : nullptr;
    if (counters.order) counters.order->append = append_to_order;
    return &counters;
}

void *counted_task(const omp_ext_counter *counter, uint64_t time, int domain, int flags) {
    ThreadState *thread = recorder::thread();
    TaskState *task = thread ? thread->pool.take() : nullptr;
    if (!task) return nullptr;
    const auto *creators = reinterpret_cast<const TaskConstruct *>(reinterpret_cast<const char *>(counter) -
                                                                   offsetof(TaskConstruct, light_counters));
    const ThreadState *creator = recorder::thread_of_index(creators->creator);
    task->construct = thread->constructs.at(counter->code, static_cast<uint32_t>(flags))->id;
    if (flags & kUndeferred) {
        task->flags = kInline;
        return task;
    }
    task->flags = kHasChildren | kHasDescendants; // the task may have both
    if (creator != thread) task->flags |= kAdopted;
    task->id = thread->new_id();
    task->ready = time;
    task->creator_cpu = static_cast<uint16_t>(creator ? __atomic_load_n(&creator->header->cpu, __ATOMIC_RELAXED) : 0);
    task->home = static_cast<uint32_t>(domain) + 1;
    return task;
}

constexpr omp_ext_observer kObserver = {
    .bytes = sizeof(omp_ext_observer),
    .creation_begins = creation_begins,
    .creation_ends = creation_ends,
    .task_created = task_created,
    .task_depends = task_depends,
    .task_starts = task_starts,
    .undeferred_starts = undeferred_starts,
    .wait_begins = wait_begins,
    .wait_ends = wait_ends,
    .steal_begins = steal_begins,
    .steal_ends = steal_ends,
    .task_begins = task_begins,
    .undeferred_begins = undeferred_begins,
    .task_ends = task_ends,
    .counters = counters,
    .counted_task = counted_task,
};

} // namespace

void (*report_counted)() = [] {};
const void *(*region_call)() = []() -> const void * { return nullptr; };

bool observe(const void *runtime) {
    auto *schedules = reinterpret_cast<decltype(&omp_ext_schedules)>(dlsym(RTLD_DEFAULT, "omp_ext_schedules"));
    if (!schedules || !schedules(runtime)) return false;
    auto *observe = reinterpret_cast<decltype(&omp_ext_observe)>(dlsym(RTLD_DEFAULT, "omp_ext_observe"));
    auto *report = reinterpret_cast<decltype(&omp_ext_report_current)>(dlsym(RTLD_DEFAULT, "omp_ext_report_current"));
    if (report) report_counted = report;
    auto *call = reinterpret_cast<decltype(&omp_ext_region_call)>(dlsym(RTLD_DEFAULT, "omp_ext_region_call"));
    if (call) region_call = call;
    if (const Library extension = library_of(reinterpret_cast<const void *>(schedules)); *extension.path)
        extension_code = extension;
    return observe && observe(&kObserver);
}

void forget_announcement() {
    if (recorder::this_thread) recorder::this_thread->announced.kind = Announcement::kNothing;
}

} // namespace ompass::held_tasks
