// SPDX-License-Identifier: Apache-2.0
// The entry points of the LLVM OpenMP runtime that the library hooks, and the structures that compilers pass to them
// (kmp.h and kmp_gsupport.cpp of LLVM; libgomp_g.h of gcc). For the libomp_*.cpp files; others use only is_in_runtime
// and call_of_region.
//
// Each hooked function is one jump through a pointer. The pointer first leads to a function that finds the runtime,
// then to our function, or to the runtime's if the library does not schedule the program. In a process with several
// runtimes it may lead to a function that routes each call by its caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "process/exported.h"
#include "process/runtimes.h"
#include "scheduler/task.h"

OMPASS_EXPORT void __kmpc_taskgroup(void *location, int32_t thread);
OMPASS_EXPORT void __kmpc_end_taskgroup(void *location, int32_t thread);
OMPASS_EXPORT void __kmpc_omp_task_begin_if0(void *location, int32_t thread, void *block);
OMPASS_EXPORT void __kmpc_omp_task_complete_if0(void *location, int32_t thread, void *block);
OMPASS_EXPORT void *__kmpc_task_allow_completion_event(void *location, int32_t thread, void *block);

namespace omp_ext::abi {

// kmp_task_t, which compilers read and write.
struct Block {
    void *shareds;
    int32_t (*routine)(int32_t thread, void *block);
    int32_t part;
    union {
        int32_t (*destructors)(int32_t thread, void *block);
        int32_t unused;
    } first;
    union {
        int32_t priority;
        void *unused;
    } second;
};
static_assert(sizeof(Block) == 40);

enum BlockFlag : int32_t {
    kTiedBlock = 1,
    kFinalBlock = 2,
    kAtOnceBlock = 4, // "merged": the runtime runs it inside __kmpc_omp_task
    kDestructorsBlock = 8,
    kProxyBlock = 16,
    kPriorityBlock = 32,
    kDetachableBlock = 64,
    kPoolBlock = 128, // threadset(omp_pool) of clang 22 and later; libomp's hidden helper tasks, up to libomp 20
    kTransparentBlock = 256, // clang 23 and later
};

// kmp_depend_info_t
struct BlockDependence {
    intptr_t address;
    size_t bytes;
    uint8_t flags; // 1 in, 3 inout, 4 mutexinoutset, 8 inoutset, 0x80 all memory
};

// kmp_task_affinity_info_t
struct BlockAffinity {
    intptr_t address;
    size_t bytes;
    int32_t flags;
};

using Routine = int32_t (*)(int32_t, void *);

// A hooked function. All hooks form an array in a section of their own, so they are aligned to their size.
struct alignas(64) Hook {
    const char *name;
    void **target; // jump target of the exported function
    void *ours;
    void *routing; // looks at the caller, then jumps to the function that target_for returns
    ompass::Router *router;
    void *real = nullptr; // the runtime's function; null: the runtime lacks it
    void *own = nullptr; // ours or real, as decided; null: not decided yet
    bool is_for_own = false; // all calls go to the runtime whose tasks we schedule
};
static_assert(sizeof(Hook) == 64);

// Finds the runtime and sets the targets of all hooks; does nothing while there is no runtime. Any thread.
void resolve();
// Returns the destination of a call from this address, for hooks whose destination depends on the caller.
void *target_for(Hook &hook, const void *caller);
// Ends the process with status 127, as the loader does: no runtime has the function that the program calls.
[[noreturn]] void end_for_lack_of(const char *name);
// True if this address belongs to the runtime whose tasks we schedule.
bool is_in_runtime(const void *code);

// Returns the return address of the program's call that began the thread's latest region of gcc.
const void *call_of_region();
// True if regions that begin now may create tasks: a library of the process refers to a function that creates tasks, or
// adopt_noted_tasks() has found a noted task.
bool may_create_tasks();
// Notes that the program creates tasks, in case no library refers to such a function: dlsym may have found it.
void note_first_task_creation();
inline std::atomic<bool> task_creation_is_noted{false};
inline void note_task_creation() {
    if (__builtin_expect(!task_creation_is_noted.load(std::memory_order_relaxed), 0)) note_first_task_creation();
}
// Makes may_create_tasks true if tasks were noted. Called by the thread that begins a region. All threads of a region
// must get the same answer, because those that join the scheduler wait for the others. So a call has no effect inside
// another region, or if several threads begin regions of their own.
void adopt_noted_tasks();

// Settings of the runtime, read once.
bool cancellation_is_on();
bool tool_is_active();

// True if the process may create target tasks, which the runtime marks with kPoolBlock, up to libomp 20.
bool may_create_target_tasks();

// True if new tasks may be light. libomp_runtime.cpp sets it when the library begins to schedule the program, or when a
// tool begins to observe the library. Conditions: nothing in the program needs the runtime's own tasks, and no tool is
// active. An observer may be active if waits are not suspended. The library clears it when a condition fails.
inline std::atomic<bool> tasks_may_be_light{false};
// Gives a light current task a proxy task, and makes all new tasks runtime tasks. Called before the program changes
// settings that the runtime keeps in a task.
void need_proxy(struct ::omp_ext::Worker &worker);

// In our blocks the Task precedes the shared variables, and run_routine is the routine.
int32_t run_routine(int32_t thread, void *block);
inline bool is_ours(const void *block) { return static_cast<const Block *>(block)->routine == run_routine; }
inline Task *task_of(const void *block) {
    return reinterpret_cast<Task *>(static_cast<char *>(static_cast<const Block *>(block)->shareds) - sizeof(Task));
}

// Notes that tasks may wait for more than their children: for locks, events or, by taskyield, other tasks.
void note_other_waits();

// Forget all events of detachable tasks, and the gates of all locks, in the child of a fork. Another thread of the
// parent may have held a spin lock, or may have been writing one of these tables.
void forget_events();
void forget_gates();

// Returns the runtime's number of the calling thread. Compilers pass the number that a function read when it began; an
// untied task may have moved to another thread since.
int32_t number_of_this_thread(int32_t passed);

// Creates a child of the worker's current task, with `block_bytes` bytes besides the shared variables. `code`: return
// address of the program's call. In libomp_tasks.cpp, like all functions up to wait_for_dependences.
Task *make_task(struct ::omp_ext::Worker &worker, void *location, int32_t flags, size_t block_bytes,
                size_t shared_bytes, Routine routine, const void *code);
// Queues a task, or runs it if its parent is final.
void submit(Worker &worker, Task &task);
void submit_at_once(Worker &worker, Task &task); // runs the task
void submit_dependent(Worker &worker, Task &task, int32_t n, const BlockDependence *first, int32_t n_more,
                      const BlockDependence *more);
// Waits until all predecessors of a task with these dependences are complete.
void wait_for_dependences(Worker &worker, int32_t n, const BlockDependence *first, int32_t n_more,
                          const BlockDependence *more);

// Begins and ends the calling thread's part of a region (libomp_regions.cpp). All workers of a region pass the same
// key. begin_part returns null if the scheduler does not handle the region.
Worker *begin_part(const void *key, int number, int32_t runtime_thread);
void end_part(Worker &worker, Worker *outer);

// Returns a copy of a task that was not submitted, for one chunk of a taskloop.
Task *duplicate(Worker &worker, const Task &pattern);
// Frees a task that was not submitted and will not run.
void discard(Worker &worker, Task &task);

// Functions of the runtime that the library calls but does not hook.
extern int (*omp_get_num_threads)();
extern int (*omp_get_level)();
extern int (*omp_get_thread_num)();
extern int32_t (*kmpc_global_thread_num)(void *location);
extern int32_t (*kmpc_omp_task_parts)(void *location, int32_t thread, void *block);
extern void (*kmpc_proxy_task_completed)(int32_t thread, void *block);

} // namespace omp_ext::abi

// Defines an exported function that jumps to its target, and real_NAME(), the runtime's function. Our function follows
// as the body of our_NAME. `arguments` lists the names of the parameters.
#define OMP_EXT_HOOK(result, name, parameters, arguments)                                                              \
    static result our_##name parameters;                                                                               \
    static result first_##name parameters;                                                                             \
    static result routing_##name parameters;                                                                           \
    static constinit ::ompass::Router router_##name;                                                                   \
    static void *target_##name = reinterpret_cast<void *>(first_##name);                                               \
    __attribute__((section("omp_ext_hooks"), used)) static ::omp_ext::abi::Hook hook_##name{                           \
        #name, &target_##name, reinterpret_cast<void *>(our_##name), reinterpret_cast<void *>(routing_##name),         \
        &router_##name};                                                                                               \
    [[maybe_unused]] static result(*real_##name()) parameters {                                                        \
        return reinterpret_cast<result(*) parameters>(hook_##name.real);                                               \
    }                                                                                                                  \
    OMPASS_EXPORT result name parameters {                                                                             \
        OMPASS_JUMP reinterpret_cast<result(*) parameters>(__atomic_load_n(&target_##name, __ATOMIC_RELAXED))          \
            arguments;                                                                                                 \
    }                                                                                                                  \
    static result first_##name parameters {                                                                            \
        ::omp_ext::abi::resolve();                                                                                     \
        void *target = __atomic_load_n(&target_##name, __ATOMIC_ACQUIRE);                                              \
        if (!target || target == reinterpret_cast<void *>(first_##name)) ::omp_ext::abi::end_for_lack_of(#name);       \
        OMPASS_JUMP reinterpret_cast<result(*) parameters>(target) arguments;                                          \
    }                                                                                                                  \
    static result routing_##name parameters {                                                                          \
        void *target = ::omp_ext::abi::target_for(hook_##name, __builtin_return_address(0));                           \
        OMPASS_JUMP reinterpret_cast<result(*) parameters>(target) arguments;                                          \
    }                                                                                                                  \
    static result our_##name parameters
