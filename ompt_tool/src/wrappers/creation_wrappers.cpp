// SPDX-License-Identifier: Apache-2.0
// Wrappers of the runtime functions that create tasks. They measure each creation (begin_creation, end_creation). OMPT
// reports the task during the call. The wrappers work only if this library is preloaded or linked. While nothing is
// recorded, they measure nothing. Only this file of the tool has these signatures (LLVM's kmp.h, kmp_gsupport.cpp;
// libgomp's libgomp_g.h).
#include "wrappers/creation_wrappers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <utility>

#include "accounting/held_tasks.h"
#include "accounting/tasks.h"
#include "format/invariants.h"
#include "wrappers/libgomp_taskloops.h"
#include "wrappers/real_functions.h"

namespace ompass::wrappers {

bool active = false;
bool forwards_in_regions = false;

namespace {

// Returns the calling thread if the wrapper must measure the creation, else null. `can_jump`: the wrapper can forward
// the call by a tail call.
inline ThreadState *creating_thread(bool is_own, bool can_jump = true) {
    ThreadState *thread = recording_thread(is_own);
    if (!thread) return nullptr;
    if (forwards_in_regions && can_jump && thread->region->instance) return nullptr;
    return thread->announced.kind ? nullptr : thread; // the extension measures announced creations
}

// True if the call submits the rest of the current untied task. If the task were new, its allocation would have begun a
// creation.
inline bool submits_rest(const ThreadState &thread, const void *task) {
    return thread.current->flags & kPart && !thread.current->creating && task != thread.wrapper.allocated;
}

// A flag of __kmpc_omp_task_alloc, and the place of the priority in the allocated task (kmp_task_t in LLVM's kmp.h).
constexpr int32_t kPriorityFlag = 0x20;
constexpr size_t kPriorityOffset = 4 * sizeof(void *);

// Returns the largest priority that the runtime distinguishes. Without OMP_MAX_TASK_PRIORITY, it is 0.
int max_priority() {
    static const int most = [] {
        const auto ask = reinterpret_cast<int (*)()>(find_exported("omp_get_max_task_priority"));
        return ask ? ask() : 0;
    }();
    return most;
}

// Holds the priority of `task` while the runtime creates this task, or a taskloop's tasks from this pattern.
struct HeldPriority {
    HeldPriority(ThreadState *its_thread, const void *task) : thread(its_thread), outer(thread->wrapper.priority) {
        thread->wrapper.priority = 0;
        if (__builtin_expect(!task || task != thread->wrapper.prioritised, 1)) return;
        thread->wrapper.prioritised = nullptr; // the next task at this address may have no priority clause
        int32_t priority;
        memcpy(&priority, static_cast<const char *>(task) + kPriorityOffset, sizeof priority);
        priority = std::min(priority, max_priority());
        if (priority > 0) thread->wrapper.priority = static_cast<uint32_t>(priority);
    }
    ~HeldPriority() { thread->wrapper.priority = outer; }
    ThreadState *const thread;
    const uint32_t outer;
};

// Measures a call that creates one task. Keeps the program's return address, because the runtime sees only an address
// in the wrapper. Prefers the return address of the task's allocation, because the call that enqueues the task may be a
// tail call.
struct MeasuredCreation {
    MeasuredCreation(ThreadState *its_thread, const void *address, const void *task = nullptr)
        : thread(its_thread), priority(its_thread, task) {
        outer = std::exchange(thread->wrapper.is_open, true);
        outer_address = thread->wrapper.address; // not null inside the runtime's GOMP_task
        if (!outer_address)
            thread->wrapper.address =
                task && task == thread->wrapper.allocated ? thread->wrapper.allocated_at : address;
        thread->wrapper.allocated = nullptr;
        begin_creation(*thread);
    }
    ~MeasuredCreation() {
        if (!outer_address) thread->wrapper.address = nullptr;
        thread->wrapper.is_open = outer;
        if (!recorder::is_off()) end_creation(*thread); // recording may have ended during the call
    }
    ThreadState *const thread;
    const HeldPriority priority;
    bool outer;
    const void *outer_address;
};

// Measures a taskloop, which creates many tasks. Its return address applies to all creations by the current task.
struct MeasuredTaskloop {
    MeasuredTaskloop(ThreadState *its_thread, const void *address, const void *task = nullptr)
        : thread(its_thread), priority(its_thread, task) {
        held_tasks::report_current(*thread);
        outer = std::exchange(thread->wrapper.is_open, true);
        outer_address = thread->wrapper.loop_address;
        outer_task = thread->wrapper.loop_task;
        if (outer_task != thread->current) // equal inside the runtime's GOMP_taskloop
            thread->wrapper.loop_address =
                task && task == thread->wrapper.allocated ? thread->wrapper.allocated_at : address;
        thread->wrapper.loop_task = thread->current;
        begin_creation(*thread);
    }
    ~MeasuredTaskloop() {
        if (!recorder::is_off()) end_creation(*thread);
        thread->wrapper.is_open = outer;
        thread->wrapper.loop_address = outer_address;
        thread->wrapper.loop_task = outer_task;
    }
    ThreadState *const thread;
    const HeldPriority priority;
    bool outer;
    const void *outer_address;
    const TaskState *outer_task;
};

} // namespace

void forward_in_regions() {
    // Without optimization gcc makes no tail calls.
#if defined(__OPTIMIZE__) && !OMPASS_ASSERTIONS
    forwards_in_regions = true;
#endif
}

void activate(bool is_enabled) {
    const void *first = dlsym(RTLD_DEFAULT, "__kmpc_omp_task_alloc");
    const void *extension = dlsym(RTLD_DEFAULT, "omp_ext_observe");
    // If the extension comes first, it forwards the calls that it does not handle, with the program's return address.
    const bool is_forwarded =
        extension && library_of(first).holds(extension) && dlsym(RTLD_NEXT, "__kmpc_omp_task_alloc");
    active = is_enabled && (is_forwarded || is_ours(first));
}

} // namespace ompass::wrappers

using namespace ompass;

// ---------------------------------------------------------------- LLVM's interface

OMPASS_EXPORT void *__kmpc_omp_task_alloc(void *location, int32_t thread_id, int32_t flags, size_t task_bytes,
                                          size_t shared_bytes, void *routine) {
    static Router router;
    // The creation begins here and ends in the call that enqueues the task. Between them, the program copies the data.
    const auto [next, is_own] = next_of<decltype(__kmpc_omp_task_alloc)>(router, "__kmpc_omp_task_alloc");
    ThreadState *thread = wrappers::creating_thread(is_own);
    if (!thread) OMPASS_JUMP next(location, thread_id, flags, task_bytes, shared_bytes, routine);
    begin_creation(*thread);
    void *task = next(location, thread_id, flags, task_bytes, shared_bytes, routine);
    if (__builtin_expect(flags & wrappers::kPriorityFlag, 0)) thread->wrapper.prioritised = task;
    if (!thread->wrapper.address && thread->wrapper.loop_task != thread->current) {
        thread->wrapper.allocated = task;
        thread->wrapper.allocated_at = __builtin_return_address(0);
    }
    return task;
}

OMPASS_EXPORT int32_t __kmpc_omp_task(void *location, int32_t thread_id, void *task) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_omp_task)>(router, "__kmpc_omp_task");
    // This call ends a first part that is probably empty: it submits the rest of the task and creates no task.
    if (recorder::this_thread && recorder::this_thread->first_part.task) OMPASS_JUMP next(location, thread_id, task);
    ThreadState *thread = wrappers::creating_thread(is_own);
    if (!thread || wrappers::submits_rest(*thread, task)) OMPASS_JUMP next(location, thread_id, task);
    const wrappers::MeasuredCreation creation(thread, __builtin_return_address(0), task);
    return next(location, thread_id, task);
}

OMPASS_EXPORT int32_t __kmpc_omp_task_with_deps(void *location, int32_t thread_id, void *task, int32_t n,
                                                void *dependences, int32_t n_noalias, void *noalias) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_omp_task_with_deps)>(router, "__kmpc_omp_task_with_deps");
    ThreadState *thread = wrappers::creating_thread(is_own);
    if (!thread) OMPASS_JUMP next(location, thread_id, task, n, dependences, n_noalias, noalias);
    const wrappers::MeasuredCreation creation(thread, __builtin_return_address(0), task);
    return next(location, thread_id, task, n, dependences, n_noalias, noalias);
}

OMPASS_EXPORT void __kmpc_taskloop(void *location, int32_t thread_id, void *task, int32_t if_value, uint64_t *lower,
                                   uint64_t *upper, int64_t stride, int32_t nogroup, int32_t schedule,
                                   uint64_t grainsize, void *duplicate) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_taskloop)>(router, "__kmpc_taskloop");
    ThreadState *thread = wrappers::creating_thread(is_own);
    if (!thread)
        OMPASS_JUMP next(location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize,
                         duplicate);
    const wrappers::MeasuredTaskloop creation(thread, __builtin_return_address(0), task);
    next(location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize, duplicate);
}

OMPASS_EXPORT void __kmpc_taskloop_5(void *location, int32_t thread_id, void *task, int32_t if_value, uint64_t *lower,
                                     uint64_t *upper, int64_t stride, int32_t nogroup, int32_t schedule,
                                     uint64_t grainsize, int32_t modifier, void *duplicate) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_taskloop_5)>(router, "__kmpc_taskloop_5");
    ThreadState *thread = wrappers::creating_thread(is_own);
    if (!thread)
        OMPASS_JUMP next(location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize,
                         modifier, duplicate);
    const wrappers::MeasuredTaskloop creation(thread, __builtin_return_address(0), task);
    next(location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize, modifier, duplicate);
}

// ---------------------------------------------------------------- gcc's interface in LLVM's runtime

constexpr unsigned kUntiedFlag = 1; // a flag of GOMP_task

using GompTask = void(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long alignment,
                      bool if_clause, unsigned flags, void **dependences, int priority, void *event);

// Copies the data of an undeferred task and creates the task, even while nothing is recorded. LLVM's GOMP_task (at
// least 14 to 19) does not call `copy` if the if clause is false, so the task would use its creator's data instead of
// its firstprivate copy. Not inlined, because a function that calls alloca makes no tail calls.
[[gnu::noinline]] static void copy_and_create(GompTask *next, void (*function)(void *), void *data,
                                              void (*copy)(void *, void *), long bytes, long alignment, unsigned flags,
                                              void **dependences, int priority, void *event) {
    const auto mask = static_cast<uintptr_t>(alignment > 1 ? alignment - 1 : 0);
    void *room = __builtin_alloca(static_cast<size_t>(bytes) + mask);
    void *copied = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(room) + mask) & ~mask);
    copy(copied, data);
    next(function, copied, nullptr, bytes, alignment, false, flags, dependences, priority, event);
}

// Calls the runtime's GOMP_task. Makes undeferred tasks tied: untied ones fail an assertion in LLVM's runtimes.
static void create_task(GompTask *next, void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes,
                        long alignment, bool if_clause, unsigned flags, void **dependences, int priority, void *event) {
    if (!if_clause && copy && bytes > 0)
        copy_and_create(next, function, data, copy, bytes, alignment, flags & ~kUntiedFlag, dependences, priority,
                        event);
    else
        next(function, data, copy, bytes, alignment, if_clause, if_clause ? flags : flags & ~kUntiedFlag, dependences,
             priority, event);
}

// Later versions of gcc added the last arguments. The wrapper forwards them unread, since older programs lack them.
OMPASS_EXPORT void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes,
                             long alignment, bool if_clause, unsigned flags, void **dependences, int priority,
                             void *event) {
    static Router router;
    const auto [next, is_own] = next_of<GompTask>(router, "GOMP_task");
    const bool must_copy = is_own && !if_clause && copy && bytes > 0;
    ThreadState *thread = wrappers::creating_thread(is_own, !must_copy);
    if (!thread && must_copy)
        return copy_and_create(next, function, data, copy, bytes, alignment, flags & ~kUntiedFlag, dependences,
                               priority, event);
    if (!thread)
        OMPASS_JUMP next(function, data, copy, bytes, alignment, if_clause, if_clause ? flags : flags & ~kUntiedFlag,
                         dependences, priority, event);
    const wrappers::MeasuredCreation creation(thread, __builtin_return_address(0));
    create_task(next, function, data, copy, bytes, alignment, if_clause, flags, dependences, priority, event);
}

namespace {

// Creates the tasks of a taskloop by GOMP_task, because LLVM's runtimes would run the taskloop wrongly.
template <typename Bound>
void create_by_tasks(ThreadState *thread, const void *address, const taskloops::Loop<Bound> &loop) {
    static Router task, begin_group, end_group, register_reductions, n_threads;
    auto *create = next_of<GompTask>(task, "GOMP_task").function;
    const unsigned flags = loop.flags;
    const bool has_reductions = flags & taskloops::kReduction;
    if (loop.n_iterations() == 0 && !has_reductions) return;
    if (!(flags & taskloops::kNoGroup)) next_of<void()>(begin_group, "GOMP_taskgroup_start").function();
    if (has_reductions) // their description follows the bounds
        next_of<void(uintptr_t *)>(register_reductions, "GOMP_taskgroup_reduction_register")
            .function(static_cast<uintptr_t **>(loop.data)[2]);
    const int n = next_of<int()>(n_threads, "omp_get_num_threads").function();
    taskloops::create_tasks(loop, static_cast<uint64_t>(n), [&] {
        std::optional<wrappers::MeasuredCreation> creation;
        if (thread) creation.emplace(thread, address);
        create_task(create, loop.function, loop.data, taskloops::copy_share, loop.bytes, loop.alignment,
                    flags & taskloops::kIf, flags & taskloops::kTaskFlags, nullptr, loop.priority, nullptr);
    });
    if (!(flags & taskloops::kNoGroup)) next_of<void()>(end_group, "GOMP_taskgroup_end").function();
}

template <typename Bound>
[[gnu::noinline]] void create_by_tasks_in_wrapper(const void *address, const taskloops::Loop<Bound> &loop) {
    ThreadState *thread = wrappers::creating_thread(true, false);
    if (!thread) return create_by_tasks(nullptr, address, loop);
    const wrappers::MeasuredTaskloop creation(thread, address);
    create_by_tasks(thread, address, loop);
}

} // namespace

// The two functions differ only in the type of the bounds.
#define OMPASS_TASKLOOP(name, Bound)                                                                                   \
    OMPASS_EXPORT void name(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes,            \
                            long alignment, unsigned flags, unsigned long n_tasks, int priority, Bound start,          \
                            Bound end, Bound step) {                                                                   \
        static Router router;                                                                                          \
        const auto [next, is_own] = next_of<decltype(name)>(router, #name);                                            \
        const taskloops::Loop<Bound> loop = {function, data,     copy,  bytes, alignment, flags,                       \
                                             n_tasks,  priority, start, end,   step};                                  \
        if (is_own && loop.is_wrong_on_llvm()) return create_by_tasks_in_wrapper(__builtin_return_address(0), loop);   \
        ThreadState *thread = wrappers::creating_thread(is_own);                                                       \
        if (!thread)                                                                                                   \
            OMPASS_JUMP next(function, data, copy, bytes, alignment, flags, n_tasks, priority, start, end, step);      \
        const wrappers::MeasuredTaskloop creation(thread, __builtin_return_address(0));                                \
        next(function, data, copy, bytes, alignment, flags, n_tasks, priority, start, end, step);                      \
    }

OMPASS_TASKLOOP(GOMP_taskloop, long)
OMPASS_TASKLOOP(GOMP_taskloop_ull, unsigned long long)
