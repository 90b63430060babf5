// SPDX-License-Identifier: Apache-2.0
// Tasks and waits: the functions that programs of clang, flang and icx call.
#include <atomic>
#include <cstring>
#include <new>
#include <sched.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/domains.h"
#include "placement/placement.h"
#include "runtime/libomp_abi.h"
#include "runtime/runtime.h"
#include "runtime/short_list.h"
#include "scheduler/checkers.h"
#include "scheduler/idle.h"
#include "scheduler/scheduler.h"
#include "scheduler/suspensions.h"
#include "tools/counters.h"
#include "tools/observer.h"

namespace omp_ext {

namespace abi {

static_assert(sizeof(Task) % 8 == 0 && alignof(Task) <= 8, "Task lies before the shared variables");

namespace {

Block *block_of(const Task &task) { return static_cast<Block *>(task.block); }

// True if the runtime may access a task or its parent after freeing the task. With an active tool, the runtime clears
// the parent's frame, and Intel's runtime looks for exported dependences. A team of one runs tasks inside their
// creator.
bool must_outlive_call(const Worker &worker) { return tool_is_active() && worker.team->n_workers > 1; }

void end_runtime_body(Task &task);

// Replaces the destructors of a task that may be discarded, because the runtime calls destructors even then.
int32_t run_destructors(int32_t thread, void *block) {
    Task &task = *task_of(block);
    if (task.flags & kDestructors) task.destructors(thread, block);
    if (!(task.flags & kUndeferred)) end_runtime_body(task);
    return 0;
}

void prepare(Task &task) {
    if (!(task.flags & (kMayBeDiscarded | kAnnotated))) return;
    if (task.flags & kAnnotated) note_release(&task);
    if (!(task.flags & kMayBeDiscarded)) return;
    task.destructors = block_of(task)->first.destructors;
    block_of(task)->first.destructors = run_destructors;
}

// ---------------------------------------------------------------- light tasks

constexpr int32_t kNeedsRuntime = kDetachableBlock | kTransparentBlock;

// Flags of tasks that the library can schedule. It passes a task with any other flag to the runtime unchanged: the
// upper half has the runtime's own flags, and later compilers may set more flags in the lower half.
constexpr int32_t kKnownFlags = kTiedBlock | kFinalBlock | kAtOnceBlock | kDestructorsBlock | kPriorityBlock |
                                kDetachableBlock | kPoolBlock | kTransparentBlock;

inline bool is_for_runtime(int32_t flags) {
    return (flags & ~kKnownFlags) || ((flags & kPoolBlock) && may_create_target_tasks());
}

inline bool may_be_light(const Task &parent, int32_t flags) {
    return tasks_may_be_light.load(std::memory_order_relaxed) && !(flags & kNeedsRuntime) &&
           (is_light(parent) || (parent.flags & kImplicitTask));
}

// True for a tied task without other flags, if it may be light and its parent is not final.
inline bool is_usual(const Worker &worker, int32_t flags) {
    return flags == kTiedBlock && may_be_light(*worker.current, flags) && !(worker.current->flags & kFinal);
}

inline void place_in(Task &task, int16_t domain) {
    task.domain = static_cast<int16_t>(domains::first_alike(domain));
    task.named_domain = domain;
}

// Initializes a new task, except the fields that concern its block.
inline void set_up(Task &task, Worker &worker, uint16_t flags, void *location, size_t block_bytes, size_t shared_bytes,
                   Routine routine, const void *code) {
    Task &parent = *worker.current;
    task.parent = &parent;
    task.group = parent.group;
    task.routine = routine;
    task.location = location;
    task.flags = flags;
    task.level = parent.level + 1;
    task.depth = task.level < UINT16_MAX ? static_cast<uint16_t>(task.level) : UINT16_MAX;
    task.named_domain = task.child_domain = kNoDomain;
    if (parent.child_domain == kNoDomain)
        task.domain = worker.domain;
    else
        place_in(task, parent.child_domain);
    task.creator = worker.number;
    task.n_created = task.n_done_here = 0;
    task.block_bytes = static_cast<uint32_t>(block_bytes);
    task.shared_bytes = static_cast<uint32_t>(shared_bytes);
    task.code = code;
    task.seen = nullptr;
    task.node = nullptr;
    task.is_transparent = task.has_short_children = task.is_lent = false;
    const auto creation = reinterpret_cast<uintptr_t>(code) + reinterpret_cast<uintptr_t>(&parent);
    task.is_repeated = creation == worker.last_creation;
    worker.last_creation = creation;
}

[[gnu::always_inline]] inline Task *make_light_task(Worker &worker, void *location, uint16_t flags, size_t block_bytes,
                                                    size_t shared_bytes, Routine routine, const void *code) {
    const size_t block_end = (block_bytes + 7) & ~size_t{7};
    const size_t n_lines = BlockPool::lines_for(block_end + sizeof(Task) + shared_bytes);
    auto *block = static_cast<Block *>(worker.blocks.take(n_lines));
    Task *task = ::new (reinterpret_cast<char *>(block) + block_end) Task;
    block->shareds = task + 1;
    block->routine = run_routine;
    block->part = 0;
    task->block = block;
    task->pool = &worker.blocks;
    task->n_lines = static_cast<uint32_t>(n_lines);
    task->n_holds.store(1, std::memory_order_relaxed);
    task->proxy = nullptr;
    set_up(*task, worker, flags, location, block_bytes, shared_bytes, routine, code);
    // A large block is freed after use. The runtime may then get its address, so the address cannot identify a reused
    // task.
    if (__builtin_expect(n_lines > BlockPool::kMostLines, 0)) task->is_repeated = false;
    return task;
}

// ---------------------------------------------------------------- events of detachable tasks

struct Detached {
    Task *task;
    Team *team;
};

SpinLock events_lock;
// Under events_lock. Never destroyed: events may be fulfilled while the process ends. Null: there was no event.
std::unordered_map<const void *, Detached> *events = nullptr;

void note_event(const void *event, Task &task, Team &team) {
    task.is_half_complete = false;
    note_other_waits();
    events_lock.lock();
    if (!events) events = new std::unordered_map<const void *, Detached>;
    (*events)[event] = {&task, &team};
    events_lock.unlock();
}

bool take_event(const void *event, Detached &detached) {
    events_lock.lock();
    bool is_known = false;
    if (events) {
        const auto found = events->find(event);
        is_known = found != events->end();
        if (is_known) {
            detached = found->second;
            events->erase(found);
        }
    }
    events_lock.unlock();
    return is_known;
}

// ---------------------------------------------------------------- dependences

// Compilers mark all memory by a flag or by address -1. Like the runtime, skips null addresses without the flag.
void append(ShortList<Dependence> &list, int32_t n, const BlockDependence *dependences) {
    for (int32_t i = 0; i < n; i++) {
        const uint8_t flags = dependences[i].flags;
        if (flags & 0x80 || dependences[i].address == -1) {
            list.add({nullptr, DependenceKind::kInOut});
            continue;
        }
        if (dependences[i].address == 0) continue;
        const DependenceKind kind = flags & 8   ? DependenceKind::kInOutSet
                                    : flags & 6 ? DependenceKind::kInOut
                                                : DependenceKind::kIn;
        list.add({reinterpret_cast<const void *>(dependences[i].address), kind});
    }
}

ShortList<Dependence> list_of(int32_t n, const BlockDependence *first, int32_t n_more, const BlockDependence *more) {
    ShortList<Dependence> list(static_cast<size_t>(n) + static_cast<size_t>(n_more));
    append(list, n, first);
    append(list, n_more, more);
    return list;
}

} // namespace

void forget_events() {
    events = nullptr;
    events_lock.unlock();
}

int32_t number_of_this_thread(int32_t passed) {
    const Worker *worker = present_worker();
    return worker ? worker->runtime_thread : passed;
}

// Runs the program's routine. The runtime calls this function for each of our tasks that execute() does not run itself.
int32_t run_routine(int32_t thread, void *block) {
    Task &task = *task_of(block);
    Worker *began = this_worker;
    if (__builtin_expect(task.flags & kAnnotated, 0)) {
        note_acquire(&task);
        if (task.node) note_acquire(task.node);
    }
    do { // an untied task that asks for its next part continues at once
        task.flags &= static_cast<uint16_t>(~kNextPart);
        task.routine(number_of_this_thread(thread), block);
    } while (task.flags & kNextPart);
    if (task.is_transparent) wait_for_children(*this_worker);
    if (task.flags & kMoved) move_back_to(*began);
    if (__builtin_expect(task.flags & kAnnotated, 0)) {
        note_release(task.block);
        note_release(task.parent);
        if (task.group) note_release(task.group);
    }
    if (!(task.flags & kMayBeDiscarded)) end_runtime_body(task);
    return 0;
}

} // namespace abi

using namespace abi;

// ---------------------------------------------------------------- creation

OMP_EXT_HOOK(void *, __kmpc_omp_task_alloc,
             (void *location, int32_t thread, int32_t flags, size_t block_bytes, size_t shared_bytes, Routine routine),
             (location, thread, flags, block_bytes, shared_bytes, routine)) {
    Worker *worker = this_worker;
    const void *code = __builtin_return_address(0);
    if (worker && __builtin_expect(worker->spare != nullptr, 0) && is_usual(*worker, flags))
        if (Task *task = take_spare(*worker, code, block_bytes, shared_bytes, routine)) return task->block;
    note_task_creation();
    if (!worker || __builtin_expect(is_for_runtime(flags), 0))
        return real___kmpc_omp_task_alloc()(location, thread, flags, block_bytes, shared_bytes, routine);
    if (__builtin_expect(is_usual(*worker, flags), 1)) {
        if (__builtin_expect(observer != nullptr, 0) && !worker->counters) notify(&omp_ext_observer::creation_begins);
        return make_light_task(*worker, location, 0, block_bytes, shared_bytes, routine, code)->block;
    }
    return make_task(*worker, location, flags, block_bytes, shared_bytes, routine, code)->block;
}

OMP_EXT_HOOK(int32_t, __kmpc_omp_task, (void *location, int32_t thread, void *block), (location, thread, block)) {
    Worker *worker = this_worker;
    if (worker && worker->reused == block && run_reused(*worker, *task_of(block))) return 0;
    if (!worker || !is_ours(block)) {
        if (worker) worker->current->flags |= kHasForeign;
        return real___kmpc_omp_task()(location, number_of_this_thread(thread), block);
    }
    Task &task = *task_of(block);
    if (&task == worker->current)
        task.flags |= kNextPart;
    else if (__builtin_expect(is_light(task) && !(worker->current->flags & kFinal), 1))
        hold(*worker, task);
    else
        submit(*worker, task);
    return 0;
}

static void wait_in_the_runtime(void *location, int32_t thread, int32_t n, const BlockDependence *first, int32_t n_more,
                                const BlockDependence *more);

OMP_EXT_HOOK(void, __kmpc_omp_wait_deps,
             (void *location, int32_t thread, int32_t n, const BlockDependence *first, int32_t n_more,
              const BlockDependence *more),
             (location, thread, n, first, n_more, more)) {
    if (!this_worker) return real___kmpc_omp_wait_deps()(location, thread, n, first, n_more, more);
    wait_for_dependences(*this_worker, n, first, n_more, more);
    if (present_worker()->current->flags & kHasForeign)
        wait_in_the_runtime(location, number_of_this_thread(thread), n, first, n_more, more);
}

OMP_EXT_HOOK(int32_t, __kmpc_omp_task_with_deps,
             (void *location, int32_t thread, void *block, int32_t n, const BlockDependence *first, int32_t n_more,
              const BlockDependence *more),
             (location, thread, block, n, first, n_more, more)) {
    Worker *worker = this_worker;
    if (!worker) return real___kmpc_omp_task_with_deps()(location, thread, block, n, first, n_more, more);
    if (!is_ours(block)) {
        // The runtime orders its own tasks (target, proxy) among themselves, but does not know ours. So the creator
        // waits for ours here.
        wait_for_dependences(*worker, n, first, n_more, more);
        present_worker()->current->flags |= kHasForeign;
        return real___kmpc_omp_task_with_deps()(location, number_of_this_thread(thread), block, n, first, n_more, more);
    }
    // Waits for the runtime's tasks on which our task depends.
    if (worker->current->flags & kHasForeign)
        wait_in_the_runtime(location, number_of_this_thread(thread), n, first, n_more, more);
    submit_dependent(*worker, *task_of(block), n, first, n_more, more);
    return 0;
}

OMP_EXT_HOOK(int32_t, __kmpc_omp_reg_task_with_affinity,
             (void *location, int32_t thread, void *block, int32_t n, const BlockAffinity *affinities),
             (location, thread, block, n, affinities)) {
    Worker *worker = this_worker;
    if (!worker || !is_ours(block))
        return real___kmpc_omp_reg_task_with_affinity()(location, thread, block, n, affinities);
    Task &task = *task_of(block);
    if (worker->current->child_domain != kNoDomain) return 0; // explicit placement takes precedence
    std::vector<ByteRange> ranges;
    ranges.reserve(static_cast<size_t>(n));
    for (int32_t i = 0; i < n; i++)
        ranges.push_back({reinterpret_cast<const void *>(affinities[i].address), affinities[i].bytes});
    const int domain = domains::of_ranges(ranges.data(), ranges.size());
    if (domain >= 0) place_in(task, static_cast<int16_t>(domain));
    return 0;
}

OMP_EXT_HOOK(void, __kmpc_omp_task_begin_if0, (void *location, int32_t thread, void *block),
             (location, thread, block)) {
    if (Worker *worker = this_worker; worker && is_ours(block)) {
        Task &task = *task_of(block);
        if (task.is_transparent) {
            wait_for_children(*worker);
            worker = present_worker();
        }
        if (begin_base_task(*worker)) task.flags |= kHasBaseTask;
        // gcc's programs do not call this function; GOMP_task does.
        begin_undeferred(*worker, task, task.location ? __builtin_return_address(0) : task.code);
        if (is_light(task)) return;
        prepare(task);
    }
    real___kmpc_omp_task_begin_if0()(location, number_of_this_thread(thread), block);
}

OMP_EXT_HOOK(void, __kmpc_omp_task_complete_if0, (void *location, int32_t thread, void *block),
             (location, thread, block)) {
    Worker *base_task_owner = nullptr;
    bool runtime_has_it = true;
    if (Worker *worker = this_worker; worker && is_ours(block)) {
        Task &task = *task_of(block);
        while (task.flags & kNextPart) {
            task.flags &= static_cast<uint16_t>(~kNextPart);
            task.routine(thread, block);
        }
        if (task.is_transparent) {
            wait_for_children(*worker);
            worker = present_worker();
        }
        if (task.flags & kHasBaseTask) base_task_owner = worker;
        runtime_has_it = !is_light(task);
        end_undeferred(*worker, task);
    }
    if (runtime_has_it) real___kmpc_omp_task_complete_if0()(location, number_of_this_thread(thread), block);
    if (base_task_owner) end_base_task(*base_task_owner);
}

OMP_EXT_HOOK(void *, __kmpc_task_allow_completion_event, (void *location, int32_t thread, void *block),
             (location, thread, block)) {
    void *event = real___kmpc_task_allow_completion_event()(location, number_of_this_thread(thread), block);
    if (this_worker && is_ours(block)) note_event(event, *task_of(block), *this_worker->team);
    return event;
}

OMP_EXT_HOOK(void, omp_fulfill_event, (void *event), (event)) {
    Detached detached;
    if (take_event(event, detached)) return fulfill(this_worker, *detached.team, *detached.task, event);
    runtime::fulfill(event);
}

// ---------------------------------------------------------------- waits

// True if the runtime must wait, too: for tasks that it schedules itself, or for a tool that knows only its waits.
static bool runtime_waits_too(const Worker &worker) {
    return (worker.current->flags & kHasForeign) || (tool_is_active() && !(observer && observer->wait_begins));
}

OMP_EXT_HOOK(int32_t, __kmpc_omp_taskwait, (void *location, int32_t thread), (location, thread)) {
    if (Worker *own = this_worker) {
        const Task *task = own->current;
        wait_for_children(*own);
        if (is_light(*task) && !(task->flags & kHasForeign)) return 0; // any active tool is an observer
        Worker &worker = *present_worker();
        note_acquire(worker.current);
        // A tool must see children complete before the wait ends.
        if (tool_is_active()) wait_for_finishing_children(worker);
        if (!runtime_waits_too(worker)) return 0;
        wait_for_finishing_children(worker);
    }
    return real___kmpc_omp_taskwait()(location, number_of_this_thread(thread));
}

OMP_EXT_HOOK(void, __kmpc_omp_taskwait_deps_51,
             (void *location, int32_t thread, int32_t n, const BlockDependence *first, int32_t n_more,
              const BlockDependence *more, int32_t nowait),
             (location, thread, n, first, n_more, more, nowait)) {
    if (this_worker) {
        wait_for_dependences(*this_worker, n, first, n_more, more);
        if (!runtime_waits_too(*present_worker())) return;
    }
    thread = number_of_this_thread(thread);
    if (Worker *worker = this_worker; worker && !nowait && (worker->current->flags & kHasForeign))
        wait_in_the_runtime(location, thread, n, first, n_more, more);
    // Exists since libomp 16. The function of older versions lacks the last argument.
    if (auto *real = real___kmpc_omp_taskwait_deps_51())
        real(location, thread, n, first, n_more, more, nowait);
    else
        real___kmpc_omp_wait_deps()(location, thread, n, first, n_more, more);
}

OMP_EXT_HOOK(int32_t, __kmpc_omp_taskyield, (void *location, int32_t thread, int32_t end), (location, thread, end)) {
    Worker *worker = this_worker;
    if (!worker || (worker->current->flags & kHasForeign))
        return real___kmpc_omp_taskyield()(location, number_of_this_thread(thread), end);
    note_other_waits();
    yield(*worker);
    return 0;
}

static constexpr int64_t kHelperNs = 200'000; // a helper thread wakes and runs a short task in this time

static int32_t mark_done(int32_t, void *block) {
    (*static_cast<std::atomic<bool> **>(static_cast<Block *>(block)->shareds))->store(true, std::memory_order_release);
    return 0;
}

// Waits for tasks that the runtime schedules itself, by creating a task that depends on them. The runtime's own wait is
// unsafe before libomp 19: its dependence node lies in the frame of the call, and a thread that completes a predecessor
// may still write to the node after the wait. The node of a task is reference-counted, but a tool that does not observe
// this library would see the task. So if a tool is active and the runtime reports such waits to tools (16 or later),
// this function uses the runtime's own wait.
static void wait_in_the_runtime(void *location, int32_t thread, int32_t n, const BlockDependence *first, int32_t n_more,
                                const BlockDependence *more) {
    if (tool_is_active() && real___kmpc_omp_taskwait_deps_51())
        return real___kmpc_omp_wait_deps()(location, thread, n, first, n_more, more);
    std::atomic<bool> is_done{false};
    auto *block = static_cast<Block *>(
        real___kmpc_omp_task_alloc()(location, thread, kTiedBlock, sizeof(Block), sizeof(void *), mark_done));
    *static_cast<std::atomic<bool> **>(block->shareds) = &is_done;
    notify(&omp_ext_observer::task_starts, static_cast<void *>(nullptr), int{present_worker()->domain}, OMP_EXT_FOUND);
    real___kmpc_omp_task_with_deps()(location, thread, block, n, first, n_more, more);
    // Each yield to a program that computes takes milliseconds; a helper thread of the runtime needs less.
    const int64_t first_yield_ns = now_ns() + (domains::n_processors() > 1 ? kHelperNs : 0);
    while (!is_done.load(std::memory_order_acquire)) {
        real___kmpc_omp_taskyield()(location, thread, 0);
        if (now_ns() >= first_yield_ns) sched_yield();
    }
}

OMP_EXT_HOOK(void, __kmpc_taskgroup, (void *location, int32_t thread), (location, thread)) {
    if (Worker *worker = this_worker) {
        begin_group(*worker);
        if (is_light(*worker->current) && !worker->current->proxy) {
            worker->current->group->is_known = false;
            return;
        }
    }
    real___kmpc_taskgroup()(location, number_of_this_thread(thread));
}

OMP_EXT_HOOK(void, __kmpc_end_taskgroup, (void *location, int32_t thread), (location, thread)) {
    if (this_worker && !end_group(*this_worker)) return;
    real___kmpc_end_taskgroup()(location, number_of_this_thread(thread));
}

OMP_EXT_HOOK(void, __kmpc_barrier, (void *location, int32_t thread), (location, thread)) {
    if (this_worker) barrier(*this_worker, kOmptBarrierExplicit);
    real___kmpc_barrier()(location, thread);
}

OMP_EXT_HOOK(int32_t, __kmpc_cancel_barrier, (void *location, int32_t thread), (location, thread)) {
    if (this_worker) barrier(*this_worker, kOmptBarrierExplicit);
    return real___kmpc_cancel_barrier()(location, thread);
}

// The runtime has a barrier inside these functions, or in the function that programs call next. All tasks must be
// complete before this barrier.
OMP_EXT_HOOK(int32_t, __kmpc_reduce,
             (void *location, int32_t thread, int32_t n, size_t bytes, void *reduced, void *function, void *lock),
             (location, thread, n, bytes, reduced, function, lock)) {
    if (this_worker) barrier(*this_worker, kOmptBarrierImplicit, false);
    return real___kmpc_reduce()(location, thread, n, bytes, reduced, function, lock);
}

OMP_EXT_HOOK(void, __kmpc_copyprivate,
             (void *location, int32_t thread, size_t bytes, void *copied, void *function, int32_t did_it),
             (location, thread, bytes, copied, function, did_it)) {
    if (this_worker) barrier(*this_worker, kOmptBarrierImplicit, false);
    real___kmpc_copyprivate()(location, thread, bytes, copied, function, did_it);
}

OMP_EXT_HOOK(void *, __kmpc_copyprivate_light, (void *location, int32_t thread, void *copied),
             (location, thread, copied)) {
    if (this_worker) barrier(*this_worker, kOmptBarrierImplicit, false);
    return real___kmpc_copyprivate_light()(location, thread, copied);
}

// ---------------------------------------------------------------- functions for the scheduler and the other files

// Begins a task of the runtime that does not belong to the program.
static void begin_unseen(const Worker &worker, void *location, void *block) {
    notify(&omp_ext_observer::task_starts, static_cast<void *>(nullptr), int{worker.domain}, OMP_EXT_FOUND);
    real___kmpc_omp_task_begin_if0()(location, worker.runtime_thread, block);
}

namespace abi {

namespace {

// Ends the body of a runtime task, except an undeferred one. Called inside this task.
void end_runtime_body(Task &task) {
    Worker &worker = *this_worker;
    // The runtime keeps a task, and its ancestors, as long as a child exists.
    if (must_outlive_call(worker))
        task.proxy =
            real___kmpc_omp_task_alloc()(nullptr, worker.runtime_thread, kProxyBlock, sizeof(Block), 0, nullptr);
    end_body(worker, task);
}

} // namespace

Task *make_task(Worker &worker, void *location, int32_t flags, size_t block_bytes, size_t shared_bytes, Routine routine,
                const void *code) {
    report_current(worker);
    notify(&omp_ext_observer::creation_begins);
    uint16_t task_flags = 0;
    // The runtime sees a tied task without priority that is never queued, because the queues are ours.
    int32_t runtime_flags = ((flags | kTiedBlock | kAtOnceBlock) & ~(kPriorityBlock | kPoolBlock | kTransparentBlock));
    if (__builtin_expect((flags & ~kTiedBlock) || !(flags & kTiedBlock) || (worker.current->flags & kFinal), 0)) {
        if ((flags & kFinalBlock) || (worker.current->flags & kFinal)) task_flags |= kFinal;
        if (!(flags & kTiedBlock)) task_flags |= kUntied;
        if (flags & kPriorityBlock) task_flags |= kPriority;
        if (flags & kDetachableBlock) task_flags |= kDetachable;
        if (flags & kDestructorsBlock) task_flags |= kDestructors;
    }
    if (__builtin_expect(cancellation_is_on(), 0)) {
        task_flags |= kMayBeDiscarded;
        runtime_flags |= kDestructorsBlock;
        if (block_bytes < sizeof(Block)) block_bytes = sizeof(Block);
    }
    // A light task stays with its thread, but any thread of the domain may resume a suspended untied task.
    if (may_be_light(*worker.current, flags) && !((task_flags & kUntied) && suspends_waits(worker)))
        return make_light_task(worker, location, task_flags, block_bytes, shared_bytes, routine, code);
    if (__builtin_expect((flags & kNeedsRuntime) && tasks_may_be_light.load(std::memory_order_relaxed), 0))
        tasks_may_be_light.store(false, std::memory_order_relaxed);
    if (is_under_tsan()) task_flags |= kAnnotated;
    auto *block = static_cast<Block *>(real___kmpc_omp_task_alloc()(
        location, worker.runtime_thread, runtime_flags, block_bytes, shared_bytes + sizeof(Task), run_routine));
    Task *task = ::new (block->shareds) Task;
    note_acquire(block); // from the previous task in this block
    block->shareds = task + 1;
    task->block = block;
    task->pool = nullptr;
    task->proxy = nullptr;
    task->n_holds.store(has_holds(*worker.current) ? 1 : 0, std::memory_order_relaxed);
    set_up(*task, worker, task_flags, location, block_bytes, shared_bytes, routine, code);
    task->is_transparent = (flags & kTransparentBlock) != 0;
    return task;
}

// Runs a transparent task at once, after the current task's earlier children and before its later ones. The task ends
// with a wait for its own children. So all dependences between these tasks hold, whether imported or exported.
static void submit_transparent(Worker &worker, Task &task) {
    wait_for_children(worker);
    prepare(task);
    run_at_once(*present_worker(), task);
}

void submit(Worker &worker, Task &task) {
    if (__builtin_expect(task.is_transparent, 0)) return submit_transparent(worker, task);
    prepare(task);
    if (__builtin_expect(worker.current->flags & kFinal, 0))
        run_at_once(worker, task);
    else
        hold(worker, task);
}

void submit_at_once(Worker &worker, Task &task) {
    if (__builtin_expect(task.is_transparent, 0)) return submit_transparent(worker, task);
    prepare(task);
    run_at_once(worker, task);
}

void submit_dependent(Worker &worker, Task &task, int32_t n, const BlockDependence *first, int32_t n_more,
                      const BlockDependence *more) {
    if (n + n_more == 0 || task.is_transparent) return submit(worker, task);
    if (worker.current->flags & kFinal) {
        wait_for_dependences(worker, n, first, n_more, more);
        return submit(*present_worker(), task);
    }
    prepare(task);
    if (!must_enter(worker, task)) return hold_independent(worker, task);
    const ShortList<Dependence> list = list_of(n, first, n_more, more);
    if (list.size() == 0) return hold(worker, task);
    hold_dependent(worker, task, list.begin(), list.size());
}

void wait_for_dependences(Worker &worker, int32_t n, const BlockDependence *first, int32_t n_more,
                          const BlockDependence *more) {
    if (!worker.table) return;
    const ShortList<Dependence> list = list_of(n, first, n_more, more);
    wait_for_predecessors(worker, list.begin(), list.size());
}

Task *duplicate(Worker &worker, const Task &pattern) {
    const int32_t flags = (pattern.flags & kUntied ? 0 : kTiedBlock) | (pattern.flags & kFinal ? kFinalBlock : 0) |
                          (pattern.flags & kPriority ? kPriorityBlock : 0) |
                          (pattern.flags & kDestructors ? kDestructorsBlock : 0) |
                          (pattern.is_transparent ? kTransparentBlock : 0);
    Task *copy = make_task(worker, pattern.location, flags, pattern.block_bytes, pattern.shared_bytes, pattern.routine,
                           pattern.code);
    // The copy keeps its own `shareds` and `routine`; private variables and other data follow them.
    constexpr size_t kOwnBytes = offsetof(Block, part);
    memcpy(static_cast<char *>(copy->block) + kOwnBytes, static_cast<const char *>(pattern.block) + kOwnBytes,
           pattern.block_bytes - kOwnBytes);
    memcpy(static_cast<Block *>(copy->block)->shareds, static_cast<const Block *>(pattern.block)->shareds,
           pattern.shared_bytes);
    copy->domain = pattern.domain;
    copy->named_domain = pattern.named_domain;
    return copy;
}

void discard(Worker &worker, Task &task) {
    if (is_light(task)) {
        begin_undeferred(worker, task, nullptr);
        end_undeferred(worker, task);
    } else {
        task.flags |= kUndeferred;
        prepare(task);
        void *location = task.location, *block = task.block;
        begin_unseen(worker, location, block);
        real___kmpc_omp_task_complete_if0()(location, worker.runtime_thread, block);
    }
    notify(&omp_ext_observer::creation_ends);
}

} // namespace abi

void runtime::call_parts(Worker &worker, Task &task) {
    do {
        task.flags &= static_cast<uint16_t>(~kNextPart);
        task.routine(worker.runtime_thread, task.block);
    } while (task.flags & kNextPart);
}

void runtime::clean_up(Worker &worker, Task &task) {
    if (task.flags & kDestructors) block_of(task)->first.destructors(worker.runtime_thread, task.block);
    if (!task.proxy) return;
    const auto complete = real___kmpc_omp_task_complete_if0();
    for (; task.n_begun > 0; task.n_begun--) complete(nullptr, worker.runtime_thread, task.proxy);
    if (--worker.n_proxies == 0) complete(nullptr, worker.runtime_thread, worker.task_before_proxies);
    worker.proxied = nullptr;
}

// Creates a task that the runtime may begin any number of times, because it is untied.
static void *make_untied(const Worker &worker) {
    return real___kmpc_omp_task_alloc()(nullptr, worker.runtime_thread, kAtOnceBlock, sizeof(Block), 0, nullptr);
}

void runtime::leave_proxy(Worker &worker) {
    begin_unseen(worker, nullptr, worker.task_before_proxies);
    worker.proxied = nullptr;
}

void runtime::return_to_proxy(Worker &worker, Task &proxied) {
    real___kmpc_omp_task_complete_if0()(nullptr, worker.runtime_thread, worker.task_before_proxies);
    begin_unseen(worker, nullptr, proxied.proxy);
    proxied.n_begun++;
    worker.proxied = &proxied;
}

void abi::need_proxy(Worker &worker) {
    tasks_may_be_light.store(false, std::memory_order_relaxed);
    Task &task = *worker.current;
    if (!is_light(task) || task.proxy) return;
    const int32_t thread = worker.runtime_thread;
    // Until the last proxy task is complete, task_before_proxies has begun once more than it has ended.
    if (worker.n_proxies++ == 0) {
        worker.task_before_proxies = make_untied(worker);
        for (int i = 0; i < 2; i++) begin_unseen(worker, nullptr, worker.task_before_proxies);
        real___kmpc_omp_task_complete_if0()(nullptr, thread, worker.task_before_proxies);
    }
    task.proxy = make_untied(worker);
    begin_unseen(worker, nullptr, task.proxy);
    task.n_begun = 1;
    worker.proxied = &task;
    for (Group *group = task.group; group && group->task == &task; group = group->outer) {
        real___kmpc_taskgroup()(nullptr, thread);
        group->is_known = true;
    }
}

void runtime::fulfill(void *event) { real_omp_fulfill_event()(event); }

bool runtime::is_watched() { return tool_is_active(); }

// A base task is an undeferred task of the runtime. When it completes, the runtime makes its parent current. The
// library begins and completes it for this effect. An untied base task is complete when it has ended as often as it has
// begun.
void *runtime::make_base_task(Worker &worker) {
    notify(&omp_ext_observer::creation_begins);
    void *base_task = real___kmpc_omp_task_alloc()(nullptr, worker.runtime_thread, kTiedBlock | kAtOnceBlock,
                                                   sizeof(Block), 0, nullptr);
    notify(&omp_ext_observer::creation_ends);
    return base_task;
}

void *runtime::make_lasting_base_task(Worker &worker) {
    if (tool_is_active()) return nullptr;
    const int32_t thread = worker.runtime_thread;
    void *base_task = real___kmpc_omp_task_alloc()(nullptr, thread, kAtOnceBlock, sizeof(Block), 0, nullptr);
    real___kmpc_omp_task_begin_if0()(nullptr, thread, base_task);
    return_to(worker, base_task);
    return base_task;
}

void runtime::end_lasting_base_task(Worker &worker, void *base_task) {
    real___kmpc_omp_task_complete_if0()(nullptr, worker.runtime_thread, base_task);
}

void runtime::return_to(Worker &worker, void *base_task) {
    begin_unseen(worker, nullptr, base_task);
    real___kmpc_omp_task_complete_if0()(nullptr, worker.runtime_thread, base_task);
}

// The direct way takes two thirds of the time. But it makes the parent current, and ignores cancellation and tools.
void runtime::execute(Worker &worker, Task &task, bool directly) {
    void *location = task.location, *block = task.block;
    const int32_t thread = worker.runtime_thread;
    const bool is_plain = !(task.flags & (kMayBeDiscarded | kAnnotated)) && !task.is_transparent && !has_holds(task);
    if (__builtin_expect(directly && is_plain && !tool_is_active(), 1)) {
        const Routine routine = task.routine;
        real___kmpc_omp_task_begin_if0()(location, thread, block);
        routine(thread, block);
        real___kmpc_omp_task_complete_if0()(location, thread, block);
        return;
    }
    // Unlike __kmpc_omp_task, __kmpc_omp_task_parts does not access a task after running it.
    if (!must_outlive_call(worker)) {
        kmpc_omp_task_parts(location, thread, block);
        return;
    }
    real___kmpc_omp_task()(location, thread, block);
    kmpc_proxy_task_completed(thread, task.proxy); // frees the task and its proxy, without an event
}

} // namespace omp_ext
