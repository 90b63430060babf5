// SPDX-License-Identifier: Apache-2.0
// The tool's entry point and its OMPT callbacks. The callbacks call the accounting, which counts and records events.
// This file handles the differences between runtimes (docs/limitations.md).
#include <omp-tools.h>

#include <utility>

#include "accounting/calls.h"
#include "accounting/held_tasks.h"
#include "accounting/loops.h"
#include "accounting/regions.h"
#include "accounting/targets.h"
#include "accounting/waits.h"
#include "log/process_log.h"
#include "process/exported.h"
#include "process/loaded_code.h"
#include "process/runtimes.h"
#include "process/unloads.h"
#include "recorder.h"
#include "runtime_data.h"
#include "target_callbacks.h"
#include "wrappers/creation_wrappers.h"
#include "wrappers/fork_wrappers.h"

namespace ompass {

namespace {

using format::Contradiction, format::ThreadKind, format::UnknownValue;
using process_log::note_contradiction, process_log::note_unknown_value;
using runtime_data::region_of, runtime_data::set_region, runtime_data::set_task, runtime_data::task_of;

// Converts a value of an OMPT enumeration. omp-tools.h may not name the value.
template <typename Enumeration>
uint32_t number(Enumeration value) {
    return static_cast<uint32_t>(value);
}

// True if the construct both begins and ends here. Records an unknown endpoint, and treats it as both.
bool is_both_ends(ompt_scope_endpoint_t endpoint) {
    if (number(endpoint) - 1 > 2) note_unknown_value(UnknownValue::kEndpoint, number(endpoint));
    return endpoint != ompt_scope_begin && endpoint != ompt_scope_end;
}

// Notes that the calling thread begins or ends a kernel of a host plugin. The tool records nothing in between. Returns
// true if the implicit task belongs to a kernel.
bool handle_kernels(ompt_scope_endpoint_t endpoint, const ompt_data_t *parallel, ompt_data_t &data) {
    ThreadState *thread = recorder::this_thread;
    if (endpoint == ompt_scope_end) {
        if (data.value != runtime_data::kKernelTask) return false;
        data.value = 0;
        if (thread) end_kernel(*thread);
        return true;
    }
    if (parallel && parallel->value == runtime_data::kKernelRegion) {
        data.value = runtime_data::kKernelTask;
        if (!thread) thread = recorder::thread(ThreadKind::kWorker);
        if (thread) begin_kernel(*thread);
        if (thread && !is_in_target(*thread)) note_kernels_thread(*thread);
        return true;
    }
    if (thread && thread->target.n_kernels && !is_in_target(*thread))
        leave_kernels(*thread); // the runtime did not report their end
    return false;
}

// True if an event of the task `encountering` shows that the thread has left the current part (leave_ended_part()).
bool has_left_part(const ThreadState &thread, const ompt_data_t *encountering) {
    const TaskState &top = *thread.current;
    if (__builtin_expect((top.flags & (kPart | kWaiting)) != kPart || !top.below, 1)) return false;
    const TaskState *task = task_of(encountering);
    return task && is_entry_of(*top.below, task) && !runs(thread, task);
}

// Makes the event's task the current task.
void catch_up(ThreadState &thread, const ompt_data_t *encountering) {
    if (has_left_part(thread, encountering)) leave_ended_part(thread);
    held_tasks::report_current(thread);
}

void on_thread_begin(ompt_thread_t kind, ompt_data_t *) {
    recorder::thread(kind == ompt_thread_initial  ? ThreadKind::kInitial
                     : kind == ompt_thread_worker ? ThreadKind::kWorker
                                                  : ThreadKind::kOther);
    if (number(kind) - 1 > 3 && recorder::this_thread) note_unknown_value(UnknownValue::kThreadType, number(kind));
}

void on_thread_end(ompt_data_t *) {
    ThreadState *thread = recorder::this_thread;
    if (!thread || recorder::is_off()) return;
    close_ended_regions(*thread);
    recorder::end_thread(*thread);
}

// True if the runtime begins the region for itself, as libomp does for its hidden helper threads. It does so from its
// own code, on a thread other than the first, and outside of every other region.
bool is_internal_region(const ThreadState &thread, const void *address) {
    return runtime_code.holds(address) && thread.index != 0 && thread.region == &thread.regions.outside;
}

void on_parallel_begin(ompt_data_t *encountering, const ompt_frame_t *, ompt_data_t *parallel, unsigned n_requested,
                       int flags, const void *address) {
    if (recorder::this_thread && recorder::this_thread->target.n_kernels) {
        if (parallel) parallel->value = runtime_data::kKernelRegion;
        return;
    }
    unloads::check_unless_notified();
    ThreadState *thread = recorder::thread(ThreadKind::kOther, true);
    if (!thread) return;
    catch_up(*thread, encountering);
    if (extension_code.holds(address)) // gcc's regions begin in a function of the extension
        if (const void *call = held_tasks::region_call()) address = call;
    if (runtime_code.holds(address))
        if (const void *call = wrappers::take_forked_at()) address = call;
    // One thread runs the code of a teams construct, although libomp reports the team size of the regions inside.
    const bool is_teams_code = thread->region->is_league && flags & ompt_parallel_invoker_runtime;
    const format::RegionInstance *region =
        begin_region(*thread, address, is_teams_code ? 1 : n_requested, is_internal_region(*thread, address));
    if (parallel) set_region(*parallel, region);
    if (!region || thread->region->instance != region) return;
    thread->region->is_league = flags & ompt_parallel_league;
    thread->region->is_teams_code = is_teams_code;
}

void on_parallel_end(ompt_data_t *parallel, ompt_data_t *, int, const void *) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    if (thread->region->primary)
        end_region(*thread);
    else if (region_of(parallel))
        note_contradiction(Contradiction::kNotLed);
}

void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *data, unsigned team_size,
                      unsigned, int flags) {
    if (!data || is_both_ends(endpoint) || handle_kernels(endpoint, parallel, *data)) return;
    ThreadState *thread = recorder::thread(flags & ompt_task_initial ? ThreadKind::kInitial : ThreadKind::kWorker);
    if (!thread) return;
    if (endpoint == ompt_scope_begin) {
        format::RegionInstance *instance = region_of(parallel);
        const EnteredRegion &region = *thread->region;
        // Some runtimes pass an earlier region's data, or none: libomp in a league of one team, Intel's in a region of
        // one thread inside a league of a gcc program.
        const bool is_unnamed = flags & ompt_task_initial ? region.is_league : !instance && team_size == 1;
        if (is_unnamed && region.primary && !region.implicit) instance = region.instance;
        const bool is_lost = !instance && parallel && parallel->value && !(flags & ompt_task_initial);
        if (is_lost) note_contradiction(Contradiction::kOverRegion);
        const bool is_teams_code = instance && region.instance == instance && region.is_teams_code;
        TaskState *task = is_lost ? nullptr : begin_implicit(*thread, instance, is_teams_code ? 1 : team_size);
        if (task && instance && flags & ompt_task_initial) thread->region->is_league = true;
        return set_task(*data, task);
    }
    TaskState *task = task_of(data);
    if (runtime_data::is_unknown_task(data)) return note_contradiction(Contradiction::kUnknownData);
    if (!task) return;
    // If an explicit task calls exit(), libomp reports the end of the initial task with the explicit task's data.
    if (flags & ompt_task_initial && is_alive(*task) && !(task->flags & kImplicit)) return;
    if (!(task->flags & kImplicit) || !is_alive(*task) || is_elsewhere(*thread, *task))
        return note_contradiction(Contradiction::kWrongImplicit);
    set_task(*data, nullptr);
    end_implicit(*thread, task);
}

[[gnu::noinline]] void on_other_create(const ompt_data_t *encountering, ompt_data_t *data, int flags,
                                       int has_dependences, const void *address) {
    ThreadState *thread = recorder::thread(ThreadKind::kOther, true);
    if (!thread) return held_tasks::forget_announcement();
    if (!data) return note_contradiction(Contradiction::kUnknownData);
    catch_up(*thread, encountering);
    const bool is_announced = thread->announced.kind;
    const bool is_measured = thread->wrapper.is_open || is_announced; // the enqueuing call measures it
    // The program calls a wrapper for each creation, except for tasks whose if clause is false.
    const bool is_if_false =
        wrappers::active && (flags & ompt_task_undeferred) && !is_announced && !is_in_runtime(address);
    if (thread->announced.kind && !(flags & ompt_task_taskwait)) {
        const auto announced = std::exchange(thread->announced.kind, Announcement::kNothing);
        if (announced == Announcement::kHeldTask) set_task(*data, thread->announced.task);
        if (announced == Announcement::kAddress) address = thread->announced.address;
        if (announced != Announcement::kAddress) return;
    }
    if (flags & ompt_task_taskwait) { // OMPT reports `taskwait depend` as a task
        // gcc's undeferred tasks with dependences wait inside our wrapper.
        const void *wrapped = thread->wrapper.is_open ? thread->wrapper.address : nullptr;
        begin_wait(*thread, format::kTaskwaitDepend, wrapped ? wrapped : address);
        return;
    }
    if (thread->wrapper.is_open) address = wrapped_address(*thread, address);
    // For a large taskloop, the runtime creates tasks that create the others. All belong to the taskloop's construct.
    const bool by_runtime = wrappers::active && runtime_code.holds(address);
    TaskConstruct *const creating = by_runtime ? thread->current->local : nullptr;
    TaskConstruct *construct =
        creating ? creating
                 : thread->constructs.at(place_of_call(*thread, address),
                                         static_cast<uint32_t>(flags) | (is_if_false ? format::kIfClauseFalse : 0));
    const int untied = flags & ompt_task_untied ? kUntied : 0;
    if ((flags & ompt_task_undeferred) && !has_dependences) {
        TaskState *task = thread->pool.peek();
        set_task(*data, task);
        if (!task) return;
        task->local = construct;
        task->flags = static_cast<uint16_t>(kInline | untied);
        if (__builtin_expect(thread->wrapper.priority != 0, 0) && thread->tracing)
            thread->log.untimed(format::kDependsOn, format::kPriorityOfNext, thread->wrapper.priority);
        return;
    }
    TaskState *task = thread->pool.take();
    set_task(*data, task);
    if (!task) return;
    task->construct = construct->id;
    task->flags = static_cast<uint16_t>((has_dependences ? kDependent : 0) | untied);
    create_deferred(*thread, task, construct);
    if (__builtin_expect(thread->wrapper.priority != 0, 0) && thread->tracing)
        thread->log.untimed(format::kDependsOn, format::kPriorityClause, thread->wrapper.priority);
    if (!is_measured) end_creation(*thread); // the wrapper of the allocation may have begun it
}

// Handles a tied undeferred task on a short path if its construct is known and no wrapper or announcement is open.
// on_other_create() handles all other tasks. An undeferred task starts at once, or never (if merged with its creator),
// so its state stays in the pool until it starts. An undeferred task with dependences counts as deferred, because in a
// team of one thread it may have to wait for a target task.
void on_task_create(ompt_data_t *encountering, const ompt_frame_t *, ompt_data_t *data, int flags, int has_dependences,
                    const void *address) {
    ThreadState *thread = recorder::this_thread;
    constexpr int kKinds = ompt_task_undeferred | ompt_task_untied | ompt_task_taskwait;
    if (__builtin_expect((flags & kKinds) == ompt_task_undeferred && !has_dependences, 1) && thread && data &&
        thread->seen_switch == recorder::current_switch() &&
        !(thread->wrapper.is_open | (thread->announced.kind != Announcement::kNothing))) {
        TaskConstruct *construct = thread->constructs.known_at(address);
        TaskState *task = thread->pool.peek_known();
        if (__builtin_expect(construct && task, 1)) {
            data->value = runtime_data::marked(task);
            task->local = construct;
            task->flags = kInline;
            return;
        }
    }
    on_other_create(encountering, data, flags, has_dependences, address);
}

void on_task_dependence(ompt_data_t *source, ompt_data_t *sink) {
    ThreadState *thread = recorder::thread();
    const TaskState *before = task_of(source);
    TaskState *after = task_of(sink);
    if (!thread || !before || !after) return;
    if (!is_alive(*after) || after->flags & (kInline | kStarted)) return note_contradiction(Contradiction::kOverTask);
    note_dependence(*thread, *before, *after);
}

// Records depend clauses, in traces only. Skips the clauses of `taskwait depend`, which has no TaskState, and of
// doacross loops, which the runtime reports with the implicit task.
void on_dependences(ompt_data_t *data, const ompt_dependence_t *clauses, int n) {
    ThreadState *thread = recorder::thread();
    const TaskState *task = task_of(data);
    if (!thread || !thread->tracing || !task || !(task->flags & kDependent) || task->id != thread->latest_id()) return;
    for (int i = 0; clauses && i < n; i++)
        thread->log.untimed(format::kDependsOn, number(clauses[i].dependence_type) % format::kArgumentLimit,
                            clauses[i].variable.value);
}

// Discards a task that did not start.
void drop_task(ThreadState &thread, TaskState *task, ompt_task_status_t status) {
    if (task->flags & kInline) { // a cancelled task counts; a task that is merged with its creator does not
        if (status != ompt_task_cancel || !thread.pool.is_next(task)) return;
        thread.pool.take_next();
        task->construct = task->local->id;
        task->flags = 0;
        create_deferred(thread, task, task->local);
    }
    discard_task(thread, task);
}

// True for an undeferred untied task that has started. In a team of one thread, the runtime reports switches from and
// to this task that do not happen.
bool only_seems_to_switch(const TaskState *task) {
    constexpr uint16_t kBoth = kInline | kUntied;
    return task && (task->flags & (kBoth | kStarted)) == (kBoth | kStarted);
}

// True if the thread may start or resume this task. Otherwise records that the runtime has contradicted itself.
bool may_run(const ThreadState &thread, const TaskState &task) {
    const bool has_started = task.flags & kStarted;
    if (!is_alive(task) || (task.flags & kImplicit && !has_started))
        note_contradiction(Contradiction::kOverTask);
    else if (has_started && is_elsewhere(thread, task))
        note_contradiction(Contradiction::kTaskElsewhere);
    else if (task.flags & kInline && !(has_started && task.owner))
        note_contradiction(Contradiction::kUndeferredLate);
    else
        return true;
    return false;
}

// Returns the task with which a thread continues; null if the tool has none or the thread cannot run it.
TaskState *next_task(const ThreadState &thread, const ompt_data_t *data) {
    if (runtime_data::is_unknown_task(data)) note_contradiction(Contradiction::kUnknownData);
    TaskState *next = task_of(data);
    return next && may_run(thread, *next) ? next : nullptr;
}

[[gnu::noinline]] void switch_to(ThreadState &thread, TaskState *prior, const ompt_data_t *next_data) {
    // An untied task enqueues its remaining part with the function that creates tasks, and then leaves the thread. The
    // wrapper has begun a creation that the runtime does not report.
    const bool leaves = prior && runs(thread, prior);
    if (thread.wrapper.address && leaves) forget_creation(thread);
    if (!next_data && leaves && !(prior->flags & kImplicit)) return step_back(thread); // the thread has no other task
    TaskState *next = task_of(next_data);
    if ((next && runs(thread, next)) || only_seems_to_switch(prior) || only_seems_to_switch(next)) return;
    // This comes before the check of the next task, because resume_task() may end undeferred tasks.
    if (next && prior && !leaves && (prior->flags & kStarted) && !(thread.current->flags & kLight) &&
        may_run(thread, *prior))
        resume_task(thread, prior);
    next = next_task(thread, next_data);
    if (!next || runs(thread, next)) return;
    if (next->flags & kStarted)
        resume_task(thread, next);
    else
        start_now(thread, next);
}

// Ends the code of a task, and starts the next task if that task is new. Discards a task that never started.
void leave_task(ThreadState &thread, ompt_data_t &prior_data, ompt_task_status_t status, const ompt_data_t *next_data) {
    TaskState *prior = task_of(&prior_data);
    const bool has_started = prior->flags & kStarted;
    if (prior->flags & kImplicit && is_alive(*prior)) return note_contradiction(Contradiction::kWrongImplicit);
    if ((has_started || !is_alive(*prior)) && !may_run(thread, *prior)) return;
    if (status != ompt_task_detach) set_task(prior_data, nullptr);
    if (!has_started) return drop_task(thread, prior, status);
    if (!runs(thread, prior)) resume_task(thread, prior);
    TaskState *next = task_of(next_data) == prior ? nullptr : next_task(thread, next_data);
    const bool is_fresh = next && !(next->flags & kStarted);
    finish_task(thread, prior, is_fresh ? nullptr : next, status);
    if (is_fresh) start_now(thread, next);
}

[[gnu::noinline]] void end_task(ThreadState &thread, ompt_data_t *prior_data, ompt_task_status_t status,
                                const ompt_data_t *next_data) {
    TaskState *prior = task_of(prior_data);
    if (runtime_data::is_unknown_task(prior_data)) note_contradiction(Contradiction::kUnknownData);
    switch (status) {
    case ompt_task_complete:
    case ompt_task_cancel:
    case ompt_task_detach:
        if (prior) leave_task(thread, *prior_data, status, next_data);
        return;
    case ompt_task_late_fulfill:
        if (!prior) return;
        if (!is_detached(*prior)) return note_contradiction(Contradiction::kNotDetached);
        set_task(*prior_data, nullptr);
        fulfill_task(thread, prior);
        return;
    case ompt_taskwait_complete: end_wait(thread, format::kTaskwaitDepend); return;
    default: return; // an early fulfilment may race with the completion, whose report suffices
    }
}

[[gnu::noinline]] void on_other_schedule(ompt_data_t *prior_data, ompt_task_status_t status, ompt_data_t *next_data) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    const bool is_known = number(status) - 1 < ompt_taskwait_complete;
    if (!is_known) note_unknown_value(UnknownValue::kTaskStatus, number(status)); // handled as a switch
    if (is_known && status != ompt_task_switch && status != ompt_task_yield)
        return end_task(*thread, prior_data, status, next_data);
    TaskState *next = task_of(next_data);
    if (next && (next->flags & ~kUntied) == kInline && thread->pool.is_next(next)) {
        thread->pool.take_next();
        begin_inline(*thread, next);
    } else {
        switch_to(*thread, task_of(prior_data), next_data);
    }
}

// Returns the whole task if this entry of the stack is a part of it; else the entry itself.
TaskState *task_of_entry(TaskState *entry) { return entry->flags & kPart ? entry->whole : entry; }

// If the task below the current deferred task resumes, completes the current task and returns true. Otherwise returns
// false.
bool completes_current(ThreadState &thread, ompt_data_t *prior_data, const ompt_data_t *next_data) {
    const TaskState &entry = *thread.current;
    TaskState *prior = task_of_entry(thread.current);
    if (entry.flags & kImplicit || !runtime_data::names(prior_data, prior) || !runs(thread, prior)) return false;
    const TaskState *next = task_of(next_data);
    if (next && !(entry.below && is_entry_of(*entry.below, next))) return false;
    set_task(*prior_data, nullptr);
    complete_task(thread, prior, nullptr, ompt_task_complete);
    return true;
}

// Handles switches to a fresh task, to the task below `prior` if `prior` is untied, and to a suspended untied task. If
// libomp runs the rest of an untied task at once, it passes that task as both `prior` and `next`. Returns false for all
// other switches.
bool switches_simply(ThreadState &thread, const TaskState *prior, TaskState *next) {
    if (!prior || !next || next->flags & kInline || only_seems_to_switch(prior)) return false;
    if (runs(thread, prior) == (prior == next)) return false;
    if (!(next->flags & (kStarted | kImplicit))) { // an implicit task that is not started has ended
        start_now(thread, next);
        return true;
    }
    if (thread.wrapper.address) return false;
    const TaskState &entry = *thread.current;
    const bool steps_back = entry.flags & kPart && entry.below && is_entry_of(*entry.below, next);
    if (!steps_back && (next->flags & (kUntied | kImplicit | kPart)) != kUntied) return false;
    if (steps_back)
        step_back(thread);
    else
        resume_task(thread, next);
    return true;
}

// True if the first part of an untied task ends, and the thread continues with the task below it.
bool ends_first_part(const ThreadState &thread, const ompt_data_t *prior_data, ompt_task_status_t status,
                     const ompt_data_t *next_data) {
    if (status != ompt_task_switch || !runtime_data::names(prior_data, thread.first_part.task)) return false;
    const TaskState *next = task_of(next_data);
    return !next || runs(thread, next);
}

// Handles frequent switches on short paths. Undeferred tasks begin and end without a further call. A deferred task
// needs no check and no search of the stack in two cases: it starts on top of the current task, or the current task
// completes and the task below it resumes. An untied task needs no check if it leaves the stack for the task below it,
// or resumes on top of the current task. on_other_schedule() handles all other switches.
void on_task_schedule(ompt_data_t *prior_data, ompt_task_status_t status, ompt_data_t *next_data) {
    ThreadState *thread = recorder::this_thread;
    if (__builtin_expect(thread && thread->seen_switch == recorder::current_switch(), 1)) {
        if (status == ompt_task_complete) {
            TaskState *prior = thread->current;
            if (prior->flags & kInline && runtime_data::names(prior_data, prior)) return end_inline(*thread, prior);
            if (completes_current(*thread, prior_data, next_data)) return;
        } else if (status == ompt_task_switch) {
            TaskState *fresh = thread->pool.peek_known();
            if (runtime_data::names(next_data, fresh) && fresh->flags == kInline) {
                thread->pool.take_next();
                return begin_inline(*thread, fresh);
            }
            if (switches_simply(*thread, task_of(prior_data), task_of(next_data))) return;
        }
    } else if (thread && thread->first_part.task && ends_first_part(*thread, prior_data, status, next_data)) {
        return end_first_part(*thread);
    }
    on_other_schedule(prior_data, status, next_data);
}

// True if the runtime returns at once because no deferred task was created. The tool does not count such a wait.
bool has_nothing_to_wait_for(uint16_t flags, ompt_sync_region_t kind) {
    return (kind == ompt_sync_region_taskwait && !(flags & kHasChildren)) ||
           (kind == ompt_sync_region_taskgroup && !(flags & (kHasChildren | kHasDescendants)));
}

[[gnu::noinline]] void on_real_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                                    const ompt_data_t *encountering, const void *address) {
    ThreadState *thread = recorder::thread();
    if (!thread || kind == ompt_sync_region_reduction || is_both_ends(endpoint)) return;
    catch_up(*thread, encountering);
    const uint32_t sync = format::sync_number(number(kind));
    const uint16_t flags = thread->current->flags;
    if (endpoint == ompt_scope_end) {
        if (flags & kWaiting) end_wait(*thread, sync);
    } else if (!(flags & kHeldWait) && !has_nothing_to_wait_for(flags, kind)) {
        // In a wrapped taskloop, OMPT reports an address in our wrapper.
        if (thread->wrapper.loop_task == thread->current) address = thread->wrapper.loop_address;
        begin_wait(*thread, sync, address);
    }
}

void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *,
                         ompt_data_t *encountering, const void *address) {
    const ThreadState *thread = recorder::this_thread;
    if (__builtin_expect(thread != nullptr, 1)) {
        const uint16_t flags = thread->current->flags;
        if ((endpoint == ompt_scope_end ? !(flags & kWaiting) : has_nothing_to_wait_for(flags, kind)) &&
            !has_left_part(*thread, encountering)) {
            if (endpoint == ompt_scope_begin && thread->tracing && is_alone(*thread) && !thread->target.n_kernels)
                name_wait(*recorder::this_thread, kind, address);
            return;
        }
    }
    on_real_wait(kind, endpoint, encountering, address);
}

bool may_block(ompt_mutex_t kind) { return kind != ompt_mutex_test_lock && kind != ompt_mutex_test_nest_lock; }

void on_mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t, const void *address) {
    if (!may_block(kind)) return;
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    held_tasks::report_current(*thread);
    begin_lock(*thread, format::mutex_number_of(number(kind)), address, clock::now());
}

void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t lock, const void *) {
    if (!may_block(kind)) return;
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    if (!thread->lock) return note_contradiction(Contradiction::kNoRequest);
    end_lock(*thread, format::mutex_number_of(number(kind)), lock, clock::now());
}

// Records releases, in traces only. The release of a lock that omp_test_lock() acquired has no recorded acquisition.
void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t lock, const void *) {
    ThreadState *thread = recorder::thread();
    if (!thread || !thread->tracing) return;
    held_tasks::report_current(*thread);
    release_lock(*thread, format::mutex_number_of(number(kind)), lock);
}

void on_work(ompt_work_t work, ompt_scope_endpoint_t endpoint, ompt_data_t *, ompt_data_t *encountering, uint64_t count,
             const void *address) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    const bool is_both = is_both_ends(endpoint);
    const uint32_t kind = format::work_number(number(work));
    if (endpoint == ompt_scope_end) return end_loop(*thread, kind);
    catch_up(*thread, encountering);
    // For a wrapped taskloop, the runtime reports an address in its own code.
    if (work == ompt_work_taskloop && thread->wrapper.loop_task == thread->current)
        address = thread->wrapper.loop_address;
    begin_loop(*thread, kind, count, address);
    if (is_both) end_loop(*thread, kind);
}

void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t *, ompt_data_t *encountering, const void *address) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    catch_up(*thread, encountering);
    const bool is_both = is_both_ends(endpoint);
    if (endpoint != ompt_scope_end) begin_loop(*thread, format::kWorkMasked, 0, address);
    if (endpoint == ompt_scope_end || is_both) end_loop(*thread, format::kWorkMasked);
}

// Counts chunks of loops. Ignores other kinds of dispatch, because runtimes report at most one of them per thread.
void on_dispatch(ompt_data_t *, ompt_data_t *, ompt_dispatch_t kind, ompt_data_t instance) {
    ThreadState *thread = recorder::thread();
    if (thread && number(kind) - 1 >= ompt_dispatch_distribute_chunk)
        note_unknown_value(UnknownValue::kDispatch, number(kind));
    if (kind != ompt_dispatch_ws_loop_chunk && kind != ompt_dispatch_distribute_chunk) return;
    if (thread && instance.ptr) take_chunk(*thread, static_cast<ompt_dispatch_chunk_t *>(instance.ptr)->iterations);
}

constexpr uint64_t kControlDump = 64; // the first command that the standard leaves to tools

int on_control(uint64_t command, uint64_t, void *, const void *) {
    switch (command) { // omp_control_tool_t
    case 1: recorder::resume(); return 0;
    case 2: recorder::pause(); return 0;
    case 3: recorder::flush(); return 0;
    case 4: recorder::stop(format::EndReason::kControlEnd); return 0;
    case kControlDump: recorder::dump(); return 0;
    default: return 1; // omp_control_tool_ignored
    }
}

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t *) {
    const auto set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
    if (!set) return 0;
    const auto add = [&](ompt_callbacks_t event, auto *function) {
        set(event, reinterpret_cast<ompt_callback_t>(function));
    };
    add(ompt_callback_thread_begin, &on_thread_begin);
    add(ompt_callback_thread_end, &on_thread_end);
    add(ompt_callback_parallel_begin, &on_parallel_begin);
    add(ompt_callback_parallel_end, &on_parallel_end);
    add(ompt_callback_implicit_task, &on_implicit_task);
    add(ompt_callback_task_create, &on_task_create);
    add(ompt_callback_task_schedule, &on_task_schedule);
    add(ompt_callback_task_dependence, &on_task_dependence);
    add(ompt_callback_sync_region_wait, &on_sync_region_wait);
    add(ompt_callback_mutex_acquire, &on_mutex_acquire);
    add(ompt_callback_mutex_acquired, &on_mutex_acquired);
    if (recorder::options().mode == format::Mode::kTrace) {
        add(ompt_callback_mutex_released, &on_mutex_released);
        add(ompt_callback_dependences, &on_dependences);
    }
    add(ompt_callback_work, &on_work);
    add(ompt_callback_masked, &on_masked);
    add(ompt_callback_dispatch, &on_dispatch);
    add(ompt_callback_control_tool, &on_control);
    target_callbacks::add(set);
    // Any address in the runtime's code would do, except ompt_set_callback, which the extension replaces.
    const auto *entry = reinterpret_cast<const void *>(lookup("ompt_get_thread_data"));
    claim_runtime(entry);
    if (const Library own = own_runtime(); *own.path) runtime_code = own;
    if (const Library ours = library_of(reinterpret_cast<const void *>(&on_thread_begin)); *ours.path) tool_code = ours;
    process_log::look_for_other_runtime();
    wrappers::activate(recorder::options().wrappers);
    // The extension also reports when creations begin and end.
    const bool extension_reports = held_tasks::observe(entry);
    if (extension_reports) wrappers::forward_in_regions();
    recorder::note_wrappers(extension_reports || wrappers::active);
    return 1;
}

// True if another runtime of the process has started the tool before. The tool records only the first one, because
// callbacks of two runtimes would mix up the states of threads and tasks.
bool is_second_runtime(const void *starter) {
    static constinit uintptr_t first = 0;
    const uintptr_t starting = library_of(starter).begin;
    uintptr_t known = 0;
    return !__atomic_compare_exchange_n(&first, &known, starting, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
           known != starting;
}

void finalize(ompt_data_t *) {
    target_callbacks::flush();
    recorder::stop(format::EndReason::kFinalized);
}

} // namespace
} // namespace ompass

// Each OpenMP runtime of the process calls this once. From here to the end of initialize(), the tool must make no
// OpenMP call.
OMPASS_EXPORT ompt_start_tool_result_t *ompt_start_tool(unsigned, const char *runtime_version) {
    if (ompass::is_second_runtime(__builtin_return_address(0))) return nullptr;
    // Keeps the runtime loaded: unloading it would end the recording, and no later runtime could start a recording.
    ompass::keep_loaded(__builtin_return_address(0));
    if (!ompass::recorder::start(runtime_version ? runtime_version : "unknown")) return nullptr;
    static ompt_start_tool_result_t result = {ompass::initialize, ompass::finalize, {0}};
    return &result;
}
