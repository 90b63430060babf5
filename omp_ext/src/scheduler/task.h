// SPDX-License-Identifier: Apache-2.0
// What the scheduler keeps of a task. It lies inside the block that compilers know. That of a light task is from a pool of
// ours, and the runtime knows nothing of it; of all others it is the runtime's, which keeps it until the task and all of its
// children are complete. The same holds for light tasks (n_holds): a child may read all of its ancestors, and nobody may
// touch a task after its completion was counted, or told to the runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "scheduler/inbox.h"

struct omp_ext_tallies;

namespace omp_ext {

struct Task;
struct Group;
struct Suspension;
struct DependenceTable;
struct DependenceNode;
class BlockPool;

inline constexpr int kNoDomain = -1;

enum TaskFlag : uint16_t {
    kFinal = 1, // its children run at once
    kImplicitTask = 2, // of a worker of a team, or of a thread outside of regions
    kUntied = 4, // may ask for its own next part; any thread of the domain resumes it
    kNextPart = 8, // it asked
    kDetachable = 16, // complete when its event is fulfilled too
    kPriority = 32, // goes to the front
    kHasForeign = 64, // created tasks that the runtime schedules itself: its waits are the runtime's too
    kMayBeDiscarded = 128, // its routine may never be called: a destructor tells its end
    kDestructors = 256, // has destructors of the program
    kRemote = 512, // not run by its parent's thread inside its parent
    kUndeferred = 1024, // run by its creator inside its parent, never held
    kRescued = 2048, // taken out of its domain
    kInline = 8192, // what tools see as a piece of the task around it
    kHasBaseTask = 4096, // undeferred: the implicit task around it got its base task for it
    kAnnotated = 32768, // ThreadSanitizer is told of it
    kMoved = 16384, // untied: another thread than that which began it took it up
};

// With the compiler's part, what every task writes lies in four lines.
struct Task : QueueEntry {
    // Set by the creating thread.
    Task *parent; // null: implicit
    Group *group; // innermost taskgroup, or null
    int32_t (*routine)(int32_t, void *); // of the program
    void *block; // the runtime's task
    void *location; // the compiler's description of the construct, null for gcc's
    uint16_t flags; // TaskFlag; after creation: the running thread's
    int16_t domain; // where it is placed; of domains with the same CPUs the first
    int16_t named_domain; // the one of these that the program named, kNoDomain: as of its parent
    int16_t child_domain; // where its children go, kNoDomain: where it runs; the running thread's
    int32_t creator; // worker number
    uint32_t n_lines; // of a light task's block
    BlockPool *pool; // to which a light task's block belongs; null: the runtime's task

    // Children that are held or were held: modulo 2^32.
    uint32_t n_created; // running thread
    uint32_t n_done_here; // running thread: those that it ran itself inside this task
    // All others, in the lower 32 bits. With kArmed set, the task is suspended until that count is the one in between.
    std::atomic<uint64_t> n_done_elsewhere;
    // Light: itself, each light child that ended before its own children did, and these children together once it ended
    // before them. Who lets go last frees the block.
    std::atomic<uint32_t> n_holds;

    std::atomic<int> n_to_complete; // detachable: 2, then 1 when the body has ended or the event is fulfilled
    DependenceNode *node; // its dependences on siblings and theirs on it, or null
    void *proxy; // of a light task: the runtime's task that stands for it, since it needs one; or null
    ChildList queued_children; // its children in inboxes
    void *seen; // what stands for it in the tool, or its counter (counters.h), or null
    union {
        const void *code; // return address of the program's call that created it
        uint64_t counted_at; // while it has a counter, which has that too
    };
    uint32_t block_bytes, shared_bytes; // of the runtime's task, as the compiler asked for them

    // Cold.
    int32_t (*destructors)(int32_t, void *);
    Suspension *suspension; // while n_done_elsewhere is armed; null: a light task that ended before its children
    int n_begun; // how often the runtime was told that the proxy task begins
    // Undeferred tasks: what the worker had before them.
    int64_t outer_mark;
    DependenceTable *outer_table;
    omp_ext_tallies *outer_counters;
};

// Whoever completes the last child of an armed task, or the last task of an armed group, and nobody else, resumes the
// task that waits (suspensions.h); until then it stays where it is, so that its memory can be read.
inline constexpr uint64_t kArmed = uint64_t{1} << 63;

inline bool is_light(const Task &task) { return task.pool != nullptr; }

// Running thread.
inline uint32_t n_children_to_wait_for(const Task &task, uint64_t n_done_elsewhere) {
    return task.n_created - task.n_done_here - static_cast<uint32_t>(n_done_elsewhere);
}
inline bool has_children_to_wait_for(const Task &task) {
    return n_children_to_wait_for(task, task.n_done_elsewhere.load(std::memory_order_acquire)) != 0;
}

// Reads as little of the ancestors as it can, which may be in the cache of another processor.
inline bool is_descendant(const Task *task, const Task *ancestor) {
    // Depths saturate: among the deepest, only the chain itself tells.
    while (task != ancestor && task->depth == UINT16_MAX) task = task->parent;
    for (int n = task->depth - ancestor->depth; n > 0; n--) task = task->parent;
    return task == ancestor;
}

// A taskgroup. Tasks created in it, descendants included, less those completed: here + elsewhere, exact at any time
// in the thread of the group, and stable once it is 0.
struct Group {
    Group *outer;
    const Task *task; // that opened it
    std::atomic<struct Worker *> worker; // the thread that is in that task
    bool is_known = true; // to the runtime
    int64_t n_here = 0; // that thread; 0 if the task is untied and may go to another one
    std::atomic<int64_t> n_elsewhere{0}; // all others; counting a completion is the last that they do with the group
    // While the wait for the group is suspended, n_elsewhere is kArmedGroup more than all there are, and n_here is 0.
    Suspension *suspension = nullptr; // thread of the group; others when they count the last task

    bool counts_here(const Worker *running) const {
        return running == worker.load(std::memory_order_relaxed) && !(task->flags & kUntied) && !suspension;
    }
};
inline constexpr int64_t kArmedGroup = int64_t{1} << 62;

} // namespace omp_ext
