// SPDX-License-Identifier: Apache-2.0
// What libomp_ext.so tells of the tasks that it holds, in events of the accounting. OMPT tells of such a task when it begins
// to run: that event is announced, and then stands for the begin of the task that was created long before.
#include "held_tasks.h"

#include <dlfcn.h>
#include <utility>

#include "accounting_waits.h"
#include "omp_ext_tool.h"

namespace ompass::held_tasks {

namespace {

void creation_begins() {
    if (ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true)) begin_creation(*thread);
}

void creation_ends() {
    if (ThreadState *thread = recorder::thread()) end_creation(*thread);
}

void *task_created(const void *code, int flags, int has_dependences, int domain) {
    ThreadState *thread = recorder::thread(format::ThreadKind::kOther, true);
    if (!thread) return nullptr;
    // A bracket of ours around the program's call knows the program's address better than the extension behind it.
    if (thread->bracket.address)
        code = std::exchange(thread->bracket.address, nullptr);
    else if (thread->bracket.loop_task == thread->current)
        code = thread->bracket.loop_address;
    TaskState *task = thread->pool.take();
    if (!task) return nullptr;
    TaskConstruct *construct = thread->constructs.at(code, static_cast<uint32_t>(flags));
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

void wait_begins(int kind) {
    ThreadState *thread = recorder::thread();
    if (!thread || thread->current->flags & kWaiting) return;
    begin_wait(*thread, static_cast<uint32_t>(kind), nullptr);
    thread->current->flags |= kHeldWait;
}

void wait_ends(int kind) {
    ThreadState *thread = recorder::thread();
    if (!thread) return;
    if (thread->current->flags & kHeldWait)
        end_wait(*thread, static_cast<uint32_t>(kind));
    else if (static_cast<uint32_t>(kind) == format::kTaskwait)
        thread->current->flags &= static_cast<uint16_t>(~kHasChildren); // they had completed already
}

void steal_begins() {
    if (ThreadState *thread = recorder::thread()) thread->held.steal_begin = clock::now();
}

void steal_ends(int succeeded) {
    ThreadState *thread = recorder::thread();
    if (!thread || !thread->counting) return;
    const uint64_t now = clock::now();
    uint64_t ticks = now - thread->held.steal_begin;
    if (ticks >= format::kArgumentLimit / 2) ticks = format::kArgumentLimit / 2 - 1; // the thread lost its processor
    format::RegionSlot &slot = *thread->region->slot;
    (succeeded ? slot.n_steals : slot.n_failed_steals)++;
    (succeeded ? slot.steal_ticks : slot.failed_steal_ticks) += ticks;
    if (thread->tracing) thread->log.timed(format::kSteal, static_cast<uint32_t>(ticks << 1 | (succeeded != 0)), now);
}

constexpr omp_ext_observer kObserver = {
    sizeof(omp_ext_observer), creation_begins, creation_ends, task_created, task_depends, task_starts,
    undeferred_starts,        wait_begins,     wait_ends,     steal_begins, steal_ends,
};

} // namespace

bool observe() {
    auto *observe = reinterpret_cast<decltype(&omp_ext_observe)>(dlsym(RTLD_DEFAULT, "omp_ext_observe"));
    return observe && observe(&kObserver);
}

void forget_announcement() {
    if (recorder::this_thread) recorder::this_thread->announced.kind = Announcement::kNothing;
}

} // namespace ompass::held_tasks
