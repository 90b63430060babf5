// SPDX-License-Identifier: Apache-2.0
// Suspends waiting tasks: the task stays on its stack, and its thread continues on another stack. These functions keep
// lists of the suspended tasks that are ready. At a switch they change the current task of the worker and of the
// runtime. stacks.h owns the stacks; task_waits.cpp decides when to suspend.
//
// Only the worker's thread calls these functions, except make_ready. Only the thread that began a tied task resumes
// it. Any thread of the domain may resume an untied task, on the task's stack. The lower frames of that stack belong to
// the thread that began the task, so the task returns to this thread when its body has ended (move_back_to in
// scheduler.h). A scheduler loop runs at the bottom of each stack. On the thread's own stack a barrier runs this loop,
// and may be suspended, too.
#pragma once

#include "placement/domains.h"
#include "scheduler/stacks.h"
#include "scheduler/team.h"

namespace omp_ext {

// A suspended wait. Lies on the stack of the waiting task, and disappears once a thread resumes it.
struct Suspension {
    explicit Suspension(Worker &its_worker)
        : worker(&its_worker), task(its_worker.current), table(its_worker.table), stack(its_worker.stack),
          proxied(its_worker.proxied), n_locks(its_worker.n_locks) {}
    Suspension(const Suspension &) = delete;
    Suspension &operator=(const Suspension &) = delete;

    Worker *worker; // the worker that suspended the task; once resumed, the worker that resumed it
    bool may_move = false; // another thread of the domain may resume it
    Task *const task; // the suspended task
    DependenceTable *const table;
    Stack *const stack;
    Task *const proxied;
    const int n_locks;
    void *base_task = nullptr; // returns the runtime to `task`; null: the runtime's current task is the implicit one
    Suspension *next = nullptr; // in a list of ready suspensions
    StackContext context;
};

// True if the team suspends waiting tasks now. The worker needs a base task, too, to suspend a task.
inline bool suspends_waits(const Worker &worker) {
    return options.waits == Waits::kRelaxed ||
           (options.waits == Waits::kUsual && worker.team->is_strict() && domains::count() > 1);
}

void get_base_task(Worker &worker);
// Gives the current task, if implicit, a base task through which the runtime can return to it. Returns true if the
// caller must end this base task; false if the task already has one or needs none. A task needs one if waits may be
// suspended, or if tasks of its thread were suspended before the program left strict mode.
inline bool begin_base_task(Worker &worker) {
    if (__builtin_expect(worker.current != &worker.implicit, 1) || worker.base_task ||
        !(suspends_waits(worker) || worker.stacks.are_in_use()))
        return false;
    get_base_task(worker);
    return true;
}
void end_base_task(Worker &worker);

// The scope of a wait. Gives the implicit task a base task if it needs one now. At the end of the wait, also ends a
// base task that was made during the wait, because the program may enter strict mode at any time.
class BaseTaskScope {
public:
    explicit BaseTaskScope(Worker &worker)
        : worker_(worker.current == &worker.implicit && !worker.base_task ? &worker : nullptr) {
        begin_base_task(worker);
    }
    ~BaseTaskScope() {
        if (worker_ && worker_->base_task) end_base_task(*worker_);
    }
    BaseTaskScope(const BaseTaskScope &) = delete;
    BaseTaskScope &operator=(const BaseTaskScope &) = delete;

private:
    Worker *const worker_; // null: the present base task, if any, is not this wait's
};

// Marks a suspension as ready: its own thread resumes it, or any thread of the domain if it may move. Called by any
// thread. The suspension may have ended on return.
void make_ready(Suspension &suspension);

// True if a suspended task can be resumed. Without a base task, the thread resumes only suspensions of its own.
inline bool has_ready(const Worker &worker) {
    return worker.first_ready || worker.newly_ready.load(std::memory_order_seq_cst) ||
           (worker.base_task && worker.team->domain_queues[worker.domain].n_ready.load(std::memory_order_seq_cst) > 0);
}
// Takes the worker's suspension that has been ready longest, else the domain's oldest. Null: none is ready.
Suspension *take_ready(Worker &worker);

// Suspend the present wait, `here`, and resume `there`, or run `loop` on a new stack. Both functions return when a
// thread, perhaps a different one, resumes `here`. `loop` never returns.
void leave_for(Worker &worker, Suspension &here, Suspension &there);
void leave_for_new(Worker &worker, Suspension &here, Stack &stack, void (*loop)(Worker &worker));
// Gives the present stack back and continues in another wait. Called at the bottom of a new stack.
[[noreturn]] void abandon_for(Worker &worker, Suspension &there);

// True if another task may run on top of the waiting one: half of the stack is left, and no task on the stack holds a
// lock that the other task might need.
inline bool may_run_on_top(const Worker &worker) { return worker.n_locks == 0 && !stack_is_half_used(); }

} // namespace omp_ext
