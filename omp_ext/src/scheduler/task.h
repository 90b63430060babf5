// SPDX-License-Identifier: Apache-2.0
// The scheduler's data about a task. They lie in the memory block that compiled code requests for the task and its
// variables. The block of a light task comes from a BlockPool, and the runtime does not know it. The runtime owns all
// other blocks, and keeps each until the task and its children are complete. n_holds keeps the blocks of light tasks
// for the same time, so a child may read all its ancestors. No thread may touch a task after counting its completion,
// or after reporting its completion to the runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "scheduler/dependence_node.h"
#include "scheduler/inbox.h"

struct omp_ext_counters;

namespace omp_ext {

struct Group;
struct DependenceTable;
struct TaskReductions;
class BlockPool;

inline constexpr int kNoDomain = -1;

enum TaskFlag : uint16_t {
    kFinal = 1, // its children run at once
    kImplicitTask = 2, // the implicit task of a worker, or of a thread outside of regions
    kUntied = 4, // may ask for its next part; any thread of the domain resumes it
    kNextPart = 8, // its next part must run
    kDetachable = 16, // incomplete until its event is fulfilled
    kPriority = 32, // goes to the front of the inbox
    kHasForeign = 64, // created tasks that the runtime schedules, so it needs the runtime's waits too
    kMayBeDiscarded = 128, // its routine may never run; a destructor marks its end
    kDestructors = 256, // has destructors of the program
    kRemote = 512, // does not run on top of its parent
    kUndeferred = 1024, // called by compiled code inside its creator (begin_undeferred)
    kRescued = 2048, // taken out of its domain
    kHasBaseTask = 4096, // undeferred: when it began, the implicit task around it got a base task
    kInline = 8192, // begins when created, so tools see it as undeferred; with or without kUndeferred
    kMoved = 16384, // untied: resumed by another thread than the one that began it
    kAnnotated = 32768, // known to ThreadSanitizer
};

// The fields that are written for every task lie in four cache lines, together with the compiler's part.
struct Task : QueueEntry {
    // Written by the creating thread.
    bool is_transparent; // its children and its siblings may depend on each other
    bool has_short_children; // its children run at once (throttle.h); written by the running thread
    bool is_repeated; // the previous task of its creating thread has the same construct and parent
    bool is_lent; // the pool of its block has counted it as lent; written by the sending thread
    uint32_t level; // as QueueEntry::depth, but not saturated
    Task *parent; // null: implicit
    Group *group; // innermost taskgroup, or null
    int32_t (*routine)(int32_t, void *); // the program's function
    void *block; // passed to the routine
    void *location; // the compiler's description of the construct; null for gcc
    uint16_t flags; // TaskFlag; after the creation, written by the running thread
    int16_t domain; // domain of the task; the first of the domains with the same CPUs
    int16_t named_domain; // domain that the program named; kNoDomain: its parent's
    int16_t child_domain; // domain of its children; kNoDomain: where it runs; written by the running thread
    int32_t creator; // worker number
    uint32_t n_lines; // size of a light task's block
    BlockPool *pool; // pool of a light task's block; null: the runtime's task

    // Counts of the task's children, except kUndeferred ones, modulo 2^32. The running thread writes the first two.
    uint32_t n_created;
    uint32_t n_done_here; // children that completed inside this task
    // The other completed children, in the lower 32 bits. If kArmed is set, bits 32 to 62 are the awaited number. The
    // child that reaches this number resumes the task, or releases a hold if the task has ended.
    std::atomic<uint64_t> n_done_elsewhere;
    // Number of holds, which keep a light task, or a descendant of one, in memory; 0 for other tasks. There is one hold
    //   - for the task itself
    //   - for each child that ended before its own children
    //   - if the task ends before its children: one more, which the last child releases
    // The release of the last hold frees the block of a light task, and releases a hold of the parent.
    std::atomic<uint32_t> n_holds;

    // Detachable tasks. The end of the body and the event each complete one half; the second half completes the task.
    // If the body ends first, its thread keeps the lock until the runtime has ended the body too, because the runtime's
    // omp_fulfill_event frees the task.
    SpinLock event_lock;
    bool is_half_complete; // one half is complete
    DependenceNode *node; // its dependences, or null
    void *proxy; // of a light task: its proxy task; of a runtime task: a child that keeps it in memory; or null
    ChildList queued_children; // its children in inboxes
    void *seen; // the tool's data of the task, or its counter (counters.h), or null
    union {
        const void *code; // return address of the call that created it
        uint64_t counted_at; // time of creation, while `seen` is a counter; the counter knows the code
    };
    uint32_t block_bytes, shared_bytes; // sizes that the compiler passed

    // Rarely used.
    int32_t (*destructors)(int32_t, void *);
    Suspension *suspension; // while n_done_elsewhere is armed; null: the task ended before its children
    int n_begun; // calls that began the proxy task
    // Undeferred tasks: the worker's state before the task.
    int64_t outer_mark;
    DependenceTable *outer_table;
    omp_ext_counters *outer_counters;
};

// Flag of n_done_elsewhere. Until the last child completes, the task stays in place, so its memory can be read.
inline constexpr uint64_t kArmed = uint64_t{1} << 63;

inline bool is_light(const Task &task) { return task.pool != nullptr; }

// True if nothing refers to a plain task that has ended, and nothing remains to be cleaned up.
[[gnu::always_inline]] inline bool is_free(const Task &task) {
    return task.flags == 0 && !task.proxy && task.n_created == task.n_done_here &&
           task.n_done_elsewhere.load(std::memory_order_acquire) == 0 &&
           task.n_holds.load(std::memory_order_acquire) == 1;
}

// True for light tasks and their descendants, until the last hold is released.
inline bool has_holds(const Task &task) { return task.n_holds.load(std::memory_order_relaxed) != 0; }

// Called by the running thread.
inline uint32_t n_children_to_wait_for(const Task &task, uint64_t n_done_elsewhere) {
    return task.n_created - task.n_done_here - static_cast<uint32_t>(n_done_elsewhere);
}
inline bool has_children_to_wait_for(const Task &task) {
    return n_children_to_wait_for(task, task.n_done_elsewhere.load(std::memory_order_acquire)) != 0;
}

// True for a descendant and for the ancestor itself. Reads few ancestors: they may be in another processor's cache.
inline bool is_descendant(const Task *task, const Task *ancestor) {
    while (task->level > ancestor->level) task = task->parent;
    return task == ancestor;
}

// A taskgroup. n_here + n_elsewhere is the number of its incomplete tasks, descendants included. The group's thread
// reads the exact sum. During the wait for the group the sum stays 0 once it is 0.
struct Group {
    Group *outer;
    const Task *task; // opened the group
    std::atomic<struct Worker *> worker; // worker that runs `task`
    bool is_known = true; // the runtime knows the group
    int64_t n_here = 0; // counted by the thread of `worker`; 0 if the task is untied and may move
    std::atomic<int64_t> n_elsewhere{0}; // counted by all others, whose last access to the group is this count
    // While the wait for the group is suspended, n_elsewhere is kArmedGroup plus all incomplete tasks, and n_here is 0.
    Suspension *suspension = nullptr; // written by the group's thread; read by the thread that counts the last task
    TaskReductions *reductions =
        nullptr; // written before the group's tasks are created; null: none, or kept by the runtime

    bool counts_here(const Worker *running) const {
        return running == worker.load(std::memory_order_relaxed) && !(task->flags & kUntied) && !suspension;
    }
};
inline constexpr int64_t kArmedGroup = int64_t{1} << 62;

} // namespace omp_ext
