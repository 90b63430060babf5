// SPDX-License-Identifier: Apache-2.0
// Waits that leave their stack: the task stays on it, and its thread goes on elsewhere. Owns who is suspended and who may
// be resumed, and what a worker and the runtime take for current across a switch; stacks.h has the stacks,
// task_waits.cpp decides when.
//
// A tied task is resumed by its own thread only, so everything here but make_ready belongs to the worker's thread. An untied
// task is resumed by any thread of the domain, on the stack on which it was left, whose lower frames stay those of the thread
// that began it; so it goes back there when its body has ended (return_to_owner in scheduler.h). At the bottom of each stack is a
// loop of the scheduler; that of the thread's own stack may be left too, while it waits in a barrier ("home").
#pragma once

#include "scheduler/stacks.h"
#include "scheduler/team.h"

namespace omp_ext {

// A wait that was left. Lies on the stack that it left; gone when it is resumed.
struct Suspension {
    explicit Suspension(Worker &its_worker)
        : worker(&its_worker), task(its_worker.current), table(its_worker.table), stack(its_worker.stack),
          proxied(its_worker.proxied), n_locks(its_worker.n_locks) {}
    Suspension(const Suspension &) = delete;
    Suspension &operator=(const Suspension &) = delete;

    Worker *worker; // whose thread left it or, once it goes on, resumed it
    bool may_move = false; // to another thread of the domain
    Task *const task; // current then
    DependenceTable *const table;
    Stack *const stack;
    Task *const proxied;
    const int n_locks;
    void *base_task = nullptr; // null: that of the implicit task
    Suspension *next = nullptr; // of those that are ready
    Place place;
};

// May waits of this team leave their stacks, now? A wait can when its worker has a base task besides.
bool may_suspend(const Worker &worker);

// Around what may run tasks in the implicit task, and called in that: lets the runtime come back to it. False: it can
// already, or need not, and end_base_task is not to be called.
bool get_base_task(Worker &worker);
inline bool begin_base_task(Worker &worker) {
    return __builtin_expect(worker.current == &worker.implicit, 0) && !worker.base_task && get_base_task(worker);
}
void end_base_task(Worker &worker);

class BaseTaskScope {
public:
    explicit BaseTaskScope(Worker &worker) : worker_(begin_base_task(worker) ? &worker : nullptr) {}
    ~BaseTaskScope() {
        if (worker_) end_base_task(*worker_);
    }
    BaseTaskScope(const BaseTaskScope &) = delete;
    BaseTaskScope &operator=(const BaseTaskScope &) = delete;

private:
    Worker *const worker_; // null: nothing was begun
};

// Any thread: what this waits for is there. It may be gone when this returns.
void make_ready(Suspension &suspension);

// Is there one that may be resumed?
inline bool has_ready(const Worker &worker) {
    return worker.first_ready || worker.resumed.load(std::memory_order_seq_cst) ||
           worker.team->domain_queues[worker.domain].n_ready.load(std::memory_order_seq_cst) > 0;
}
// The one that has been ready longest, or null.
Suspension *take_ready(Worker &worker);

// The worker's thread leaves the present wait, `here`, for another one or for the bottom of a new stack, which runs `loop`.
// They return when `here` is resumed, perhaps on another thread; `loop` never returns.
void leave_for(Worker &worker, Suspension &here, Suspension &there);
void leave_for_new(Worker &worker, Suspension &here, Stack &stack, void (*loop)(Worker &worker));
// At the bottom of a new stack: gives it back.
[[noreturn]] void abandon_for(Worker &worker, Suspension &there);

// Does the task that waits let another one run on top of it? Not when little of the stack is left, nor while a task on
// the stack holds a lock: it could not go on to release it if the one on top wanted it.
inline bool may_run_on_top(const Worker &worker) { return worker.n_locks == 0 && !stack_is_half_used(); }

} // namespace omp_ext
