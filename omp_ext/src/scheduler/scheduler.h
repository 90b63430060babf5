// SPDX-License-Identifier: Apache-2.0
// The scheduler: places, runs and completes tasks (scheduler.cpp) and waits for them (task_waits.cpp). The files
// runtime/libomp_*.cpp create the tasks and call the scheduler, which knows the runtime only through runtime.h. Each
// function is called by its worker's thread. After a wait, an untied task may be on another thread, with another
// worker.
//
// OpenMP's task scheduling constraint holds: a thread that waits in a task starts only descendants of that task, unless
// it waits in a barrier or suspends the task. So the tasks on a stack are a chain of descendants, and the items of the
// deque from `mark` on are descendants of the current task. A queued task is in an inbox, or in the deque of a thread
// that can take it later. The parent's thread can take the task out of any inbox, unless the parent may be
// suspended. So waiting threads cannot deadlock: the thread in the deepest waiting task can run all descendants of that
// task, wherever they are.
//
// In strict mode a waiting task may be suspended, or a small task may run on top of it; the waiting task then waits for
// that task as well. Every wait is for a task that began later. So there is no cycle if tasks wait for their children
// only.
#pragma once

#include "scheduler/checkers.h"
#include "scheduler/dependences.h"
#include "scheduler/team.h"

namespace omp_ext {

// Takes over a child that the current task created. May run it before returning.
void hold(Worker &worker, Task &task);
// Take over a child with dependences. must_enter() is false if its predecessors are already complete and the child will
// also be complete before its parent can create a successor. hold_independent() then runs the child at once. Otherwise
// hold_dependent() queues it when its predecessors are complete.
bool must_enter(Worker &worker, const Task &task);
void hold_independent(Worker &worker, Task &task);
void hold_dependent(Worker &worker, Task &task, const Dependence *dependences, int n);

// Runs a task on top of the current one.
void run(Worker &worker, Task &task);
void run_on_new_stack(Worker &worker, Task &task);
// Runs a task on top of the current one, on a new stack if half of the present stack is used.
inline void run_on_top(Worker &worker, Task &task) {
    if (stack_is_half_used()) return run_on_new_stack(worker, task);
    run(worker, task);
}

// Reuse of tasks. Where tasks run at their creation, in a team of one or because they are short (throttle.h), one Task
// serves all tasks of a loop: almost all fields of the next task are the same. take_spare() returns the last task that
// has ended, as a new child of the current task; null if that task had another construct, parent or domain. When the
// program submits the block worker.reused, run_reused() runs the task. It returns false if the task needs hold() or
// submit(): the task must be queued, an affinity clause may have given it a domain, or the block now belongs to another
// task, because the program never submitted the reused one.
inline Task *take_spare(Worker &worker, const void *code, size_t block_bytes, size_t shared_bytes,
                        int32_t (*routine)(int32_t, void *)) {
    Task *task = worker.spare;
    if (!task || task->code != code) return nullptr;
    // Another task may have got the address of the spare task's parent.
    const Task &parent = *worker.current;
    if (task->parent != &parent || task->group != parent.group || task->level != parent.level + 1 ||
        parent.child_domain != kNoDomain || task->domain != worker.domain || task->routine != routine ||
        task->block_bytes != block_bytes || task->shared_bytes != shared_bytes)
        return nullptr;
    worker.spare = nullptr;
    worker.reused = task->block;
    task->named_domain = task->child_domain = kNoDomain;
    task->has_short_children = false;
    return task;
}
bool run_reused(Worker &worker, Task &task);

// Makes a plain child the current task while it runs on top of its parent.
class PlainExecution {
public:
    PlainExecution(Worker &worker, Task &task)
        : worker_(worker), task_(task), mark_(worker.mark), table_(worker.table) {
        worker.current = &task;
        worker.mark = worker.deque.bottom();
        worker.table = nullptr;
    }
    ~PlainExecution() {
        worker_.current = task_.parent;
        worker_.mark = mark_;
        worker_.table = table_;
    }
    PlainExecution(const PlainExecution &) = delete;
    PlainExecution &operator=(const PlainExecution &) = delete;

    void run() {
        inject_sleep();
        task_.routine(worker_.runtime_thread, task_.block);
        inject_sleep();
        if (__builtin_expect(worker_.table == nullptr, 1)) return;
        destroy(worker_.table, worker_.blocks);
        worker_.table = nullptr;
    }

private:
    Worker &worker_;
    Task &task_;
    const int64_t mark_;
    DependenceTable *const table_;
};

// A new light child of the current task may run again and again in a PlainExecution, as long as is_free() is true after
// each run; each run counts as a task. The caller checks may_repeat() before the first run, restores the child's block
// between two runs, and calls end_repeated() after the last.
bool may_repeat(const Worker &worker, const Task &task);
void end_repeated(Worker &worker, Task &task, uint32_t n_runs); // frees the task
// Runs a child that the current task created and that must not be queued.
void run_at_once(Worker &worker, Task &task);

// Begin and end a task that compiled code calls inside its creator. `code`: return address for tools, or null.
void begin_undeferred(Worker &worker, Task &task, const void *code);
void end_undeferred(Worker &worker, Task &task); // a light task may be freed on return

// Wait for the children, all tasks of the innermost taskgroup, the predecessors of a task that will run at once, or all
// threads and tasks of the team. `kind`: OMPT's kind of the barrier. `is_followed`: the runtime's own barrier follows.
void wait_for_children(Worker &worker);
void begin_group(Worker &worker);
void wait_for_group(Worker &worker);
bool end_group(Worker &worker); // waits; returns true if the runtime knows the group
void wait_for_predecessors(Worker &worker, const Dependence *dependences, int n);
void barrier(Worker &worker, int kind, bool is_followed = true);

// Waits for all threads and tasks of a cancelled region. Called by a thread that leaves the region and skips the
// barriers in which others wait. The others meet this thread in their next barrier or in end_region.
void leave_cancelled_region(Worker &worker);
// Waits for all threads and tasks at the end of a region.
void end_region(Worker &worker);

// Waits until the children are complete for the runtime, too. Called after wait_for_children; takes a few instructions.
void wait_for_finishing_children(Worker &worker);

// A lock, or a turn in an ordered loop, that a task waits for in a team that suspends waiting tasks.
struct Awaited {
    virtual bool is_over() = 0; // true: the task has the lock or turn
    // Returns true if the thread that passes the lock or turn on will resume the suspension; false if the task already
    // has the lock or turn.
    virtual bool arm(Suspension &suspension) = 0;

protected:
    ~Awaited() = default;
};
// Waits. Runs no task on top of the waiting task, because the waiting task may hold a lock that the other task needs.
void wait_suspended(Worker &worker, Awaited &awaited);

// Lets the current task give way to one other task, if there is one.
void yield(Worker &worker);

// Moves the current untied task back to the thread of `former`, which ran an earlier part of it. After the body,
// `former` is the thread that began the task: it owns the frames below.
void move_back_to(Worker &former);

// Ends a task after its body, before the runtime completes it: releases its successors, and counts a kRemote task for
// its parent. A tied task on top of its parent, without event and dependences, needs no call: run() counts it.
void end_body(Worker &worker, Task &task);
// Fulfils the event of a detachable task, here and in the runtime. `worker`: null for a thread outside of teams.
void fulfill(Worker *worker, Team &team, Task &task, void *event);

} // namespace omp_ext
