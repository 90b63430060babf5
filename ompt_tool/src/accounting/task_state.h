// SPDX-License-Identifier: Apache-2.0
// The state of one task between its events, and the pools of such states.
//
// The creator of the task takes a state from its own pool, and the thread that runs the task uses the state (the
// runtime's queue orders their accesses). The thread that completes the task returns the state to the creator's pool:
// at once if it is the creator, else in chains of kReturnBatch, so that the threads do not share a cache line per task.
// The memory of a pool is never freed, so a stale pointer reads an old state and never faults.
//
// An untied task may continue and end on another thread before the tool sees that its first thread has left it. So each
// of its threads runs a part: a separate state that lives from a start or resumption to the next suspension or the
// completion. Any other task is on one thread at a time and needs no parts.
//
// A state has owner != null if and only if it is on a thread's stack. An untied task is on no stack; its parts are.
// A state in a pool has: creator == the pool's owner; owner == null; creating == 0; n_predecessors == 0; id == 0, or
// the id of the dependent task that used it last.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/invariants.h"
#include "format/statistics.h"

namespace ompass {

struct TaskConstruct;

inline constexpr unsigned kMaxPredecessors = 6;

enum TaskFlag : uint16_t {
    kInline = 1, // undeferred: runs at once inside its creator, on the same thread
    kTimed = 2, // chosen for timing; the task is inline, or light and deferred
    kImplicit = 4, // implicit or initial task
    kStarted = 8,
    kHasChildren = 16, // created a deferred task since its last taskwait
    kHasDescendants = 32, // the task or an inline child has ever created a deferred task
    kWaiting = 64, // inside a wait region
    kDependent = 128, // has dependences
    kUntied = 256, // its threads run parts
    kPart = 512, // one thread's part of an untied task
    // Three values have two meanings each: for different kinds of tasks, or before and after the start.
    kUncounted = 1024, // inline, on the stack while a pause began or ended: its start and end are not counted
    kListed = 1024, // a part in the thread's table of parts
    kInitial = 2048, // initial task outside of all regions
    kSubmitted = 2048, // untied, before the start: its first part has run and submitted the rest (see FirstPart)
    kHeldWait = 4096, // in a wait that the extension reported; the runtime's wait is a part of that wait
    kLight = 8192, // the runtime does not know it; the task below is the runtime's current task
    // Light and not timed. The extension may count the tasks in it without reporting them. If it is deferred, its work
    // goes to the thread's pool (pool_ticks), like the work of untimed undeferred tasks.
    kUntimed = 16384,
    // Before the start: the state belongs to the first thread that reported the task, not to the creator
    // (held_tasks.cpp).
    kAdopted = 32768,
    kPassed = 32768, // on a stack: it was there while a pause began or ended
    kTimedOrUntimed = kTimed | kUntimed,
    // Pairs of flags that no running task has.
    kOver = kImplicit | kInline, // in a pool; other flags may remain
    kDetached = kImplicit | kPart // its code has ended, its event is not fulfilled
};

// A plain task touches only cache line 1. Tasks that wait, untied tasks and their parts also touch the start of line 2.
// The rest of line 2, and line 3, are for tasks with dependences.
struct alignas(64) TaskState {
    uint64_t id; // creating thread << 40 | counter; 0: none; meaningless for inline tasks
    // Time of its creation or, for a suspended untied task, of its return to the queue. Parts: the task's start if the
    // part is the first one, else 0.
    uint64_t ready;
    uint64_t worked; // work since its start, including inline descendants; inline tasks: owner->worked at the start
    TaskState *below; // the task suspended under it on this thread; in a pool: the next free state
    TaskState *owner; // on a stack: itself, or for inline tasks the innermost task around it that is not inline
    TaskConstruct *local; // its construct on the thread that runs it; null for implicit tasks
    uint32_t construct; // not set for inline tasks, whose construct is local->id
    uint16_t creator; // thread index
    union {
        uint16_t creator_cpu; // before the start
        uint16_t stack; // index of the thread whose stack it is on, while owner is set
    };
    uint16_t flags; // TaskFlag
    uint8_t n_predecessors; // the last entry of the ring `predecessors` is at n_predecessors - 1, modulo its size
    uint8_t creating; // inside a wrapped creation
    union {
        uint32_t weight; // number of tasks that a timed task represents; for a deferred task, only after its start
        uint32_t home; // before the start: 1 + the domain in which the extension placed it; 0: the runtime holds it
    };

    uint64_t wait_begin; // while kWaiting: start of the wait if the task is on a stack, else id of `wait`
    format::WaitSlot *wait; // counts the wait, on the thread that runs the task
    // Completion time of a task with dependences, valid while `id` is unchanged. Detached tasks: end of their code.
    // Completed untied tasks without dependences: a time in their last part, before which all other parts ended.
    uint64_t end;
    union {
        TaskState *whole; // parts: the task
        uint64_t detached_in; // detached tasks: sequence of the region's instance; 0: outside of regions
    };
    struct {
        const TaskState *task;
        uint64_t id;
    } predecessors[kMaxPredecessors];
};
static_assert(sizeof(TaskState) == 192);

// The id in records: 0 for an undeferred task, whose state may keep the id of a dependent task that is over.
inline uint64_t traced_id(const TaskState &task) { return task.flags & kInline ? 0 : task.id; }
inline bool is_over(const TaskState &task) { return (task.flags & kOver) == kOver; }
// True for a task whose code has not ended. False for states in a pool, detached tasks and parts.
inline bool is_alive(const TaskState &task) { return !is_over(task) && !(task.flags & kPart); }
// True if this entry of a thread's stack is the task, or a part of it.
inline bool is_entry_of(const TaskState &entry, const TaskState *task) {
    return &entry == task || ((entry.flags & kPart) && entry.whole == task && entry.id == task->id);
}
// Notes that this entry of a stack has created a deferred task. Another part of an untied task may wait for that task.
inline void note_child(TaskState &creator) {
    creator.flags |= kHasChildren | kHasDescendants;
    if (creator.flags & kPart) creator.whole->flags |= kHasChildren;
}
// Notes that all children of this entry's task are complete.
inline void forget_children(TaskState &creator) {
    creator.flags &= static_cast<uint16_t>(~kHasChildren);
    if (creator.flags & kPart) creator.whole->flags &= static_cast<uint16_t>(~kHasChildren);
}
inline bool is_detached(const TaskState &task) { return (task.flags & kDetached) == kDetached; }
inline bool is_untimed_deferred(const TaskState &task) { return (task.flags & (kUntimed | kInline)) == kUntimed; }

class TaskPool {
public:
    void set_owner(uint16_t index) { owner_ = index; }

    // Owner only: true if take() would return this state.
    bool is_next(const TaskState *state) const { return state == free_; }

    // Owner only: returns the state that take() would return, and keeps it in the pool.
    TaskState *peek() {
        if (__builtin_expect(free_ == nullptr, 0) && !refill()) return nullptr;
        return free_;
    }
    // Owner only: like peek(), but returns null for an empty pool instead of refilling it.
    TaskState *peek_known() const { return free_; }

    // Owner only: takes the state for which is_next() is true.
    void take_next() { free_ = free_->below; }

    // Owner only: takes a state. Returns null if memory is exhausted.
    TaskState *take() {
        TaskState *state = peek();
        if (__builtin_expect(state != nullptr, 1)) {
            check_pooled(*state);
            free_ = state->below;
        }
        return state;
    }
    // Owner only: returns a state to its own pool.
    void give_back(TaskState *state) {
        check_pooled(*state);
        state->below = free_;
        free_ = state;
    }
    // Owner only: returns a state to its own pool after a delay, because a successor may still read the end time.
    void give_back_delayed(TaskState *state);

    // Owner of *this only: returns a state to the pool `home` of another thread.
    void give_back_to(TaskPool &home, TaskState *state);

private:
    static constexpr unsigned kReturnBatch = 32;
    static constexpr unsigned kDelayed = 256;

    // Asserts that this state may be in this pool.
    void check_pooled([[maybe_unused]] const TaskState &state) const {
        OMPASS_ASSERT(state.creator == owner_);
        OMPASS_ASSERT(state.owner == nullptr && state.creating == 0 && state.n_predecessors == 0);
    }
    bool refill();
    void flush_chain();

    TaskState *free_ = nullptr;
    TaskState *chain_first_ = nullptr; // states to return together to the pool chain_home_
    TaskState *chain_last_ = nullptr;
    TaskPool *chain_home_ = nullptr;
    unsigned chain_length_ = 0;
    unsigned chunk_states_ = 32; // in the next chunk; doubles: most threads need few states, some very many
    uint16_t owner_ = 0;
    unsigned next_delayed_ = 0;
    TaskState *delayed_[kDelayed] = {};
    alignas(64) std::atomic<TaskState *> returned_{nullptr}; // pushed by other threads, emptied by the owner
};

} // namespace ompass
