// SPDX-License-Identifier: Apache-2.0
// The interface between compilers and the LLVM OpenMP runtime, as far as the library stands in it, and how a hooked
// function comes by the runtime's own. Only the libomp_*.cpp files include this (kmp.h, kmp_gsupport.cpp of LLVM;
// libgomp_g.h of gcc).
//
// Each hooked function is one jump through a pointer. At first it points to a function that finds the runtime; from then
// on to the runtime's own function, so that a program that is left alone pays for one predicted jump, or to ours. Where
// the process has several runtimes, it may point to a function that looks which library calls: ours are the calls for the
// runtime that we schedule, and all others go where they would have gone without us.
#pragma once

#include <cstddef>
#include <cstdint>

#include "process/runtimes.h"
#include "scheduler/task.h"

#define OMP_EXT_EXPORT extern "C" __attribute__((visibility("default")))

OMP_EXT_EXPORT void __kmpc_taskgroup(void *location, int32_t thread);
OMP_EXT_EXPORT void __kmpc_end_taskgroup(void *location, int32_t thread);
OMP_EXT_EXPORT void __kmpc_omp_task_begin_if0(void *location, int32_t thread, void *block);
OMP_EXT_EXPORT void __kmpc_omp_task_complete_if0(void *location, int32_t thread, void *block);
OMP_EXT_EXPORT void *__kmpc_task_allow_completion_event(void *location, int32_t thread, void *block);

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
    kAtOnceBlock = 4, // "merged": the runtime does not queue it, but runs it inside __kmpc_omp_task
    kDestructorsBlock = 8,
    kProxyBlock = 16,
    kPriorityBlock = 32,
    kDetachableBlock = 64,
    kHiddenHelperBlock = 128,
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

// A function that we stand in front of. Aligned, since compilers put what is larger at addresses of their choice.
struct alignas(64) Hook {
    const char *name;
    void **target; // where the exported function jumps to
    void *ours;
    void *sorting; // jumps to the function that target_for returns
    ompass::Behind *behind;
    void *real = nullptr; // null: the runtime has none
    void *own = nullptr; // ours or real, whichever is in effect; null: not decided yet
    bool is_for_own = false; // every call is one for the runtime that we schedule
};
static_assert(sizeof(Hook) == 64); // no gap between them
// All hooks of the library lie in a section of their own, which the linker delimits.

// Finds the runtime and decides; after it every target is set, unless there is no runtime yet. Any thread.
void resolve();
// Returns where a call from the library with this address goes, if that depends on the library.
void *target_for(Hook &hook, const void *caller);
// The program calls a function that no runtime in the process has: what the loader would do about it.
[[noreturn]] void end_for_lack_of(const char *name);
// Is this code in the runtime itself?
bool is_in_runtime(const void *code);
// Does anything in the process refer to a function that creates tasks? Once true, always true.
bool may_create_tasks();
void note_task_creation();

// Settings of the runtime, asked once.
bool cancellation_is_on();
bool tool_is_active();

// May new tasks be light? That is decided when the runtime is found: where the program has nothing that needs the runtime's own
// tasks, and no tool looks on, or one that observes us while no wait may step aside. It is taken back, for good, where such a
// thing comes later.
inline std::atomic<bool> tasks_may_be_light{false};
// What follows needs the runtime's own task for the current one, and for its children.
void need_own_task(struct ::omp_ext::Worker &worker);

// A task of ours lies before the shared variables of its block, and its routine is ours.
int32_t run_routine(int32_t thread, void *block);
inline bool is_ours(const void *block) { return static_cast<const Block *>(block)->routine == run_routine; }
inline Task *task_of(const void *block) {
    return reinterpret_cast<Task *>(static_cast<char *>(static_cast<const Block *>(block)->shareds) - sizeof(Task));
}

// A task may wait for another one that is no child of it.
void note_other_waits();

// What compilers pass as the number of the calling thread, they asked for when the function began: before an untied task
// waited in it, and went to another thread.
int32_t number_of_this_thread(int32_t passed);

// Creates a task of the worker's current task, of this many bytes besides the shared ones; `code`: where the program
// called for it.
Task *make_task(struct ::omp_ext::Worker &worker, void *location, int32_t flags, size_t block_bytes,
                size_t shared_bytes, Routine routine, const void *code);
// Hands a task over to the scheduler, or runs it when its parent is final.
void submit(Worker &worker, Task &task);
void submit_at_once(Worker &worker, Task &task); // runs it
void submit_dependent(Worker &worker, Task &task, int32_t n, const BlockDependence *first, int32_t n_more,
                      const BlockDependence *more);
// Waits of the current task in the scheduler.
void wait_for_dependences(Worker &worker, int32_t n, const BlockDependence *first, int32_t n_more,
                          const BlockDependence *more);

// Begins and ends the part of the calling thread in a region whose workers all pass the same key. Null: left alone.
Worker *begin_part(const void *key, int number, int32_t runtime_thread);
void end_part(Worker &worker, Worker *outer);

// A duplicate of a task that was not submitted, for one chunk of a taskloop.
Task *duplicate(Worker &worker, const Task &pattern);
// Frees a task that was not submitted and will not run.
void discard(Worker &worker, Task &task);

// The runtime's functions that are called without being hooked.
extern int (*omp_get_num_threads)();
extern int (*omp_get_level)();
extern int (*omp_get_thread_num)();
extern int32_t (*kmpc_global_thread_num)(void *location);

} // namespace omp_ext::abi

// A call that leaves the caller's frame as it is: the runtime sees the program's return address, and what the program passed
// beyond the named arguments. gcc makes sibling calls of such calls by itself whenever it optimizes.
#if defined(__has_cpp_attribute) && __has_cpp_attribute(clang::musttail)
#define OMP_EXT_JUMP [[clang::musttail]] return
#else
#define OMP_EXT_JUMP return
#endif

// Defines an exported function that jumps to `target`, and the runtime's own as real_NAME(). `ours` follows as the
// body of held_NAME. Arguments are named in both lists.
#define OMP_EXT_HOOK(result, name, parameters, arguments)                                                              \
    static result held_##name parameters;                                                                              \
    static result first_##name parameters;                                                                             \
    static result sorting_##name parameters;                                                                           \
    static constinit ::ompass::Behind behind_##name;                                                                   \
    static void *target_##name = reinterpret_cast<void *>(first_##name);                                               \
    __attribute__((section("omp_ext_hooks"), used)) static ::omp_ext::abi::Hook hook_##name{                           \
        #name, &target_##name, reinterpret_cast<void *>(held_##name), reinterpret_cast<void *>(sorting_##name),        \
        &behind_##name};                                                                                               \
    [[maybe_unused]] static result(*real_##name()) parameters {                                                        \
        return reinterpret_cast<result(*) parameters>(hook_##name.real);                                               \
    }                                                                                                                  \
    OMP_EXT_EXPORT result name parameters {                                                                            \
        OMP_EXT_JUMP reinterpret_cast<result(*) parameters>(__atomic_load_n(&target_##name, __ATOMIC_RELAXED))         \
            arguments;                                                                                                 \
    }                                                                                                                  \
    static result first_##name parameters {                                                                            \
        ::omp_ext::abi::resolve();                                                                                     \
        void *target = __atomic_load_n(&target_##name, __ATOMIC_ACQUIRE);                                              \
        if (!target || target == reinterpret_cast<void *>(first_##name)) ::omp_ext::abi::end_for_lack_of(#name);       \
        OMP_EXT_JUMP reinterpret_cast<result(*) parameters>(target) arguments;                                         \
    }                                                                                                                  \
    static result sorting_##name parameters {                                                                          \
        void *target = ::omp_ext::abi::target_for(hook_##name, __builtin_return_address(0));                           \
        OMP_EXT_JUMP reinterpret_cast<result(*) parameters>(target) arguments;                                         \
    }                                                                                                                  \
    static result held_##name parameters
