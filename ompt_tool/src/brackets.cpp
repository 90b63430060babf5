// SPDX-License-Identifier: Apache-2.0
// Runtime brackets: functions of the compiler's OpenMP interface that create tasks, in front of the runtime's own.
// OMPT tells when a task was created, not how long that took; these measure it. They take effect only when this
// library is preloaded or linked, pass every argument on, and do nothing while nothing is recorded.
// The only file that knows these signatures (LLVM's kmp.h and kmp_gsupport.cpp; libgomp's libgomp_g.h).
#include "brackets.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <optional>
#include <utility>

#include "accounting_tasks.h"
#include "format/invariants.h"
#include "messages.h"

#define OMPASS_EXPORT extern "C" __attribute__((visibility("default")))
// Return by this and a call: the function called sees our caller's address for its own. gcc does so when it optimizes.
#ifdef __clang__
#define OMPASS_JUMP [[clang::musttail]] return
#else
#define OMPASS_JUMP return
#endif
#ifdef __OPTIMIZE__
#define OMPASS_APART [[gnu::noinline]] static
#else
#define OMPASS_APART [[gnu::always_inline]] static inline // where gcc does not jump
#endif

namespace ompass::brackets {

bool active = false;
bool aside_in_regions = false;
Code runtime_code = {};

namespace {

// Is this address in our own library? Our functions' names may stand for the runtime's, so they cannot be compared.
bool is_ours(void *address) {
    Dl_info there, here;
    return dladdr(address, &there) && dladdr(&active, &here) && there.dli_fbase == here.dli_fbase;
}

struct Search {
    const char *name;
    void *found;
};

// The runtime may have been loaded out of sight of RTLD_NEXT: then every library of the process is asked.
int search_library(dl_phdr_info *info, size_t, void *argument) {
    auto *search = static_cast<Search *>(argument);
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return 0;
    // The extension stands in front of a runtime as we do, and has its functions too, but for this one.
    void *symbol = dlsym(library, "omp_get_num_threads") ? dlsym(library, search->name) : nullptr;
    dlclose(library);
    if (!symbol || is_ours(symbol)) return 0;
    search->found = symbol;
    return 1;
}

void *find_real(const char *name) {
    if (void *next = dlsym(RTLD_NEXT, name)) return next;
    Search search{name, nullptr};
    dl_iterate_phdr(search_library, &search);
    if (!search.found) { // we stand in front of a runtime that does not have the function its program calls
        say("no OpenMP runtime of this process has the function %s, which the program calls.", name);
        abort();
    }
    return search.found;
}

// Is a bracket of the calling thread to be measured here?
inline bool measures() {
    if (!active) return false;
    const ThreadState *thread = recorder::this_thread;
    return thread && thread->seen_switch == recorder::kOn && recorder::current_switch() == recorder::kOn &&
           !thread->announced.kind; // what the extension announced is no creation
}
// The same where the call may be passed on by a jump.
inline bool measures_or_jumps() { return measures() && !(aside_in_regions && recorder::this_thread->region->instance); }

// Brackets one call that creates a single task. The runtime would take our address for the program's; and the
// program's is the better one where the task was allocated, since the last call of a function may be a jump.
struct Creation {
    explicit Creation(const void *address, const void *task = nullptr) {
        outer = std::exchange(thread->bracket.is_open, true);
        outer_address = thread->bracket.address; // not null: the runtime calls this itself, for the program's GOMP_task
        if (!outer_address)
            thread->bracket.address =
                task && task == thread->bracket.allocated ? thread->bracket.allocated_at : address;
        begin_creation(*thread);
    }
    ~Creation() {
        if (!outer_address) thread->bracket.address = nullptr;
        thread->bracket.is_open = outer;
        if (recorder::current_switch() != recorder::kOff) end_creation(*thread); // it may have ended in the bracket
    }
    ThreadState *const thread = recorder::this_thread;
    bool outer;
    const void *outer_address;
};

// Finds the segment of a shared library with the address in `begin`.
int find_segment(dl_phdr_info *info, size_t, void *argument) {
    auto *code = static_cast<Code *>(argument);
    if (!info->dlpi_name || !*info->dlpi_name) return 0; // the program
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const Code segment = {first, first + info->dlpi_phdr[i].p_memsz};
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !segment.holds(reinterpret_cast<void *>(code->begin))) continue;
        *code = segment;
        return 1;
    }
    return 0;
}

// The same for a taskloop: many tasks, all of them children of the task that is current now.
struct LoopCreation {
    explicit LoopCreation(const void *address, const void *task = nullptr) {
        outer = std::exchange(thread->bracket.is_open, true);
        outer_address = thread->bracket.loop_address;
        outer_task = thread->bracket.loop_task;
        if (outer_task != thread->current) // else the runtime calls this itself, for the program's GOMP_taskloop
            thread->bracket.loop_address =
                task && task == thread->bracket.allocated ? thread->bracket.allocated_at : address;
        thread->bracket.loop_task = thread->current;
        begin_creation(*thread);
    }
    ~LoopCreation() {
        if (recorder::current_switch() != recorder::kOff) end_creation(*thread);
        thread->bracket.is_open = outer;
        thread->bracket.loop_address = outer_address;
        thread->bracket.loop_task = outer_task;
    }
    ThreadState *const thread = recorder::this_thread;
    bool outer;
    const void *outer_address;
    const TaskState *outer_task;
};

} // namespace

void stand_aside_in_regions() {
    // Where nothing is optimized, what was called would take our address for the program's.
#if defined(__OPTIMIZE__) && !OMPASS_ASSERTIONS
    aside_in_regions = true;
#endif
}

void look_whether_in_front(bool wanted) {
    void *first = dlsym(RTLD_DEFAULT, "__kmpc_omp_task_alloc");
    // The extension may stand before us: what it does not take itself it passes on, with the program's address.
    void *extension = dlsym(RTLD_DEFAULT, "omp_ext_observe");
    Dl_info there, its;
    if (first && extension && dladdr(first, &there) && dladdr(extension, &its) && there.dli_fbase == its.dli_fbase)
        first = dlsym(RTLD_NEXT, "__kmpc_omp_task_alloc") ? reinterpret_cast<void *>(&look_whether_in_front) : nullptr;
    active = wanted && first && is_ours(first);
    runtime_code = {};
    if (!active) return;
    Code code = {reinterpret_cast<uintptr_t>(find_real("omp_get_num_threads")), 0};
    if (dl_iterate_phdr(find_segment, &code)) runtime_code = code;
}

} // namespace ompass::brackets

using namespace ompass;

// Passes a call on to the runtime's function behind ours.
#define OMPASS_PASS_ON(name, arguments)                                                                                \
    const auto next = __atomic_load_n(&real_##name, __ATOMIC_ACQUIRE);                                                 \
    if (__builtin_expect(next == nullptr, 0)) OMPASS_JUMP first_##name arguments;                                      \
    OMPASS_JUMP next arguments

// The runtime's function, which is found at the first call; all threads find the same. next_NAME calls it.
#define OMPASS_REAL(result, name, parameters, arguments)                                                               \
    extern "C" result name parameters;                                                                                 \
    static decltype(&name) real_##name = nullptr;                                                                      \
    OMPASS_APART result first_##name parameters {                                                                      \
        __atomic_store_n(&real_##name, reinterpret_cast<decltype(&name)>(brackets::find_real(#name)),                  \
                         __ATOMIC_RELEASE);                                                                            \
        OMPASS_JUMP real_##name arguments;                                                                             \
    }                                                                                                                  \
    static inline result next_##name parameters { OMPASS_PASS_ON(name, arguments); }

// Defines a bracket, which goes on to the runtime's function or, where it is measured, to measured_NAME, whose body
// follows. It saves no register before it jumps. Arguments are named in both lists.
#define OMPASS_BRACKET(result, name, parameters, arguments)                                                            \
    OMPASS_REAL(result, name, parameters, arguments)                                                                   \
    static result measured_##name parameters;                                                                          \
    OMPASS_EXPORT result name parameters {                                                                             \
        if (__builtin_expect(brackets::measures_or_jumps(), 1)) OMPASS_JUMP measured_##name arguments;                 \
        OMPASS_PASS_ON(name, arguments);                                                                               \
    }                                                                                                                  \
    OMPASS_APART result measured_##name parameters

// ---------------------------------------------------------------- LLVM's interface

OMPASS_BRACKET(void *, __kmpc_omp_task_alloc,
               (void *location, int32_t thread_id, int32_t flags, size_t task_bytes, size_t shared_bytes,
                void *routine),
               (location, thread_id, flags, task_bytes, shared_bytes, routine)) {
    // The creation begins here and ends in the call that enqueues the task; in between lies only the copying of its data.
    ThreadState &thread = *recorder::this_thread;
    begin_creation(thread);
    void *task = next___kmpc_omp_task_alloc(location, thread_id, flags, task_bytes, shared_bytes, routine);
    if (!thread.bracket.address && thread.bracket.loop_task != thread.current) {
        thread.bracket.allocated = task;
        thread.bracket.allocated_at = __builtin_return_address(0);
    }
    return task;
}

OMPASS_BRACKET(int32_t, __kmpc_omp_task, (void *location, int32_t thread_id, void *task), (location, thread_id, task)) {
    const brackets::Creation creation(__builtin_return_address(0), task);
    return next___kmpc_omp_task(location, thread_id, task);
}

OMPASS_BRACKET(int32_t, __kmpc_omp_task_with_deps,
               (void *location, int32_t thread_id, void *task, int32_t n, void *dependences, int32_t n_noalias,
                void *noalias),
               (location, thread_id, task, n, dependences, n_noalias, noalias)) {
    const brackets::Creation creation(__builtin_return_address(0), task);
    return next___kmpc_omp_task_with_deps(location, thread_id, task, n, dependences, n_noalias, noalias);
}

OMPASS_BRACKET(void, __kmpc_taskloop,
               (void *location, int32_t thread_id, void *task, int32_t if_value, uint64_t *lower, uint64_t *upper,
                int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grainsize, void *duplicate),
               (location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize, duplicate)) {
    const brackets::LoopCreation creation(__builtin_return_address(0), task);
    next___kmpc_taskloop(location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize,
                         duplicate);
}

OMPASS_BRACKET(void, __kmpc_taskloop_5,
               (void *location, int32_t thread_id, void *task, int32_t if_value, uint64_t *lower, uint64_t *upper,
                int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grainsize, int32_t modifier,
                void *duplicate),
               (location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize, modifier,
                duplicate)) {
    const brackets::LoopCreation creation(__builtin_return_address(0), task);
    next___kmpc_taskloop_5(location, thread_id, task, if_value, lower, upper, stride, nogroup, schedule, grainsize,
                           modifier, duplicate);
}

// ---------------------------------------------------------------- gcc's interface, as LLVM's runtime offers it

// The last arguments came with later versions of gcc; what an older caller did not pass is passed on unread.
OMPASS_REAL(void, GOMP_task,
            (void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long alignment,
             bool if_clause, unsigned flags, void **dependences, int priority, void *event),
            (function, data, copy, bytes, alignment, if_clause, flags, dependences, priority, event))

OMPASS_APART void measured_GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes,
                                     long alignment, bool if_clause, unsigned flags, void **dependences, int priority,
                                     void *event) {
    const brackets::Creation creation(__builtin_return_address(0));
    next_GOMP_task(function, data, copy, bytes, alignment, if_clause, flags, dependences, priority, event);
}

// LLVM's GOMP_task (14 to 19 at least) forgets `copy` when the if clause is false, and the task then sees the data of
// its creator instead of its own firstprivate copy. So that copy is made here, whether anything is recorded or not.
OMPASS_APART void copy_and_create(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes,
                                  long alignment, bool, unsigned flags, void **dependences, int priority, void *event) {
    const auto mask = static_cast<uintptr_t>(alignment > 1 ? alignment - 1 : 0);
    void *room = __builtin_alloca(static_cast<size_t>(bytes) + mask);
    void *copied = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(room) + mask) & ~mask);
    std::optional<brackets::Creation> creation;
    if (brackets::measures()) creation.emplace(__builtin_return_address(0));
    copy(copied, data);
    next_GOMP_task(function, copied, nullptr, bytes, alignment, false, flags, dependences, priority, event);
}

OMPASS_EXPORT void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes,
                             long alignment, bool if_clause, unsigned flags, void **dependences, int priority,
                             void *event) {
    if (__builtin_expect(!if_clause && copy && bytes > 0, 0))
        OMPASS_JUMP copy_and_create(function, data, copy, bytes, alignment, if_clause, flags, dependences, priority,
                                    event);
    if (__builtin_expect(brackets::measures_or_jumps(), 1))
        OMPASS_JUMP measured_GOMP_task(function, data, copy, bytes, alignment, if_clause, flags, dependences, priority,
                                       event);
    OMPASS_PASS_ON(GOMP_task, (function, data, copy, bytes, alignment, if_clause, flags, dependences, priority, event));
}

OMPASS_BRACKET(void, GOMP_taskloop,
               (void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long alignment,
                unsigned flags, unsigned long n_tasks, int priority, long start, long end, long step),
               (function, data, copy, bytes, alignment, flags, n_tasks, priority, start, end, step)) {
    const brackets::LoopCreation creation(__builtin_return_address(0));
    next_GOMP_taskloop(function, data, copy, bytes, alignment, flags, n_tasks, priority, start, end, step);
}

OMPASS_BRACKET(void, GOMP_taskloop_ull,
               (void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long alignment,
                unsigned flags, unsigned long n_tasks, int priority, unsigned long long start, unsigned long long end,
                unsigned long long step),
               (function, data, copy, bytes, alignment, flags, n_tasks, priority, start, end, step)) {
    const brackets::LoopCreation creation(__builtin_return_address(0));
    next_GOMP_taskloop_ull(function, data, copy, bytes, alignment, flags, n_tasks, priority, start, end, step);
}
