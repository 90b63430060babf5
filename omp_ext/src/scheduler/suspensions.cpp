// SPDX-License-Identifier: Apache-2.0
// Suspends and resumes tasks.
#include "scheduler/suspensions.h"

#include <utility>

#include "placement/domains.h"
#include "runtime/runtime.h"
#include "scheduler/idle.h"

namespace omp_ext {

namespace {

// True if the runtime's current task is the implicit one: `task` is the implicit task, or it is light, no task of the
// worker has a proxy task, and no tool is active.
bool is_in_implicit_task(const Worker &worker, const Task &task) {
    return &task == &worker.implicit || (is_light(task) && worker.n_proxies == 0 && !runtime::is_watched());
}

// Makes the parent of `base_task` (null: the implicit task) the runtime's current task. First gives the task of `here`
// (null: none) a base task, if it needs one.
void change_current(Worker &worker, Suspension *here, void *base_task) {
    const bool is_elsewhere = here && !is_in_implicit_task(worker, *here->task);
    if (is_elsewhere) here->base_task = runtime::make_base_task(worker);
    if (base_task) return runtime::return_to(worker, base_task);
    if (!is_elsewhere) return;
    runtime::return_to(worker, worker.base_task);
    if (!worker.base_task_lasts) worker.base_task = runtime::make_base_task(worker);
}

void restore(const Suspension &here) {
    Worker &worker = *here.worker;
    worker.current = here.task;
    worker.table = here.table;
    worker.stack = here.stack;
    worker.n_locks = here.n_locks;
    worker.proxied = here.proxied;
}

// Prepares to resume `there` on this thread. Waits until the thread that suspended `there` has left the stack. These
// waits cannot form a cycle: a thread takes `there` before other threads can take its own suspension.
void take_over(Worker &worker, Suspension &there) {
    wait_until_left(there.context);
    if (there.worker == &worker) return;
    there.worker = &worker;
    there.task->flags |= kMoved;
}

// Appends a suspension to the ready list of the domain, because any thread of the domain may resume it.
void add_ready(Suspension &suspension) {
    Worker &worker = *suspension.worker;
    Team &team = *worker.team;
    const int domain = worker.domain;
    DomainQueues &queues = team.domain_queues[domain];
    suspension.next = nullptr;
    queues.ready_lock.lock();
    (queues.first_ready ? queues.last_ready->next : queues.first_ready) = &suspension;
    queues.last_ready = &suspension;
    queues.n_ready.fetch_add(1, std::memory_order_seq_cst);
    queues.ready_lock.unlock();
    if (worker.asleep.load(std::memory_order_seq_cst) == 1) return wake(worker);
    signal_inbox_task(team, domain);
}

Suspension *take_from_domain(Worker &worker) {
    DomainQueues &queues = worker.team->domain_queues[worker.domain];
    if (queues.n_ready.load(std::memory_order_relaxed) == 0) return nullptr;
    queues.ready_lock.lock();
    Suspension *first = queues.first_ready;
    if (first) {
        queues.first_ready = first->next;
        queues.n_ready.fetch_sub(1, std::memory_order_relaxed);
    }
    queues.ready_lock.unlock();
    return first;
}

void enter_new_stack(void *argument) {
    Worker &worker = *static_cast<Worker *>(argument);
    worker.current = &worker.bottom_task;
    worker.table = nullptr;
    worker.n_locks = 0;
    worker.proxied = nullptr;
    worker.stack_loop(worker);
}

} // namespace

void get_base_task(Worker &worker) {
    worker.base_task = runtime::make_lasting_base_task(worker);
    worker.base_task_lasts = worker.base_task != nullptr;
    if (!worker.base_task_lasts) worker.base_task = runtime::make_base_task(worker);
}

void end_base_task(Worker &worker) {
    void *base_task = std::exchange(worker.base_task, nullptr);
    if (worker.base_task_lasts)
        runtime::end_lasting_base_task(worker, base_task);
    else
        runtime::return_to(worker, base_task);
}

void make_ready(Suspension &suspension) {
    if (suspension.may_move) return add_ready(suspension);
    Worker &worker = *suspension.worker;
    Suspension *first = worker.newly_ready.load(std::memory_order_relaxed);
    do suspension.next = first;
    while (!worker.newly_ready.compare_exchange_weak(first, &suspension, std::memory_order_seq_cst));
    wake(worker);
}

Suspension *take_ready(Worker &worker) {
    if (worker.newly_ready.load(std::memory_order_relaxed)) {
        Suspension *newest = worker.newly_ready.exchange(nullptr, std::memory_order_acquire);
        Suspension *oldest = nullptr, *const last = newest;
        while (newest) {
            Suspension *next = std::exchange(newest->next, oldest);
            oldest = std::exchange(newest, next);
        }
        (worker.first_ready ? worker.last_ready->next : worker.first_ready) = oldest;
        worker.last_ready = last;
    }
    Suspension *first = worker.first_ready;
    if (!first) return worker.base_task ? take_from_domain(worker) : nullptr;
    worker.first_ready = first->next;
    return first;
}

void leave_for(Worker &worker, Suspension &here, Suspension &there) {
    take_over(worker, there);
    change_current(worker, &here, there.base_task);
    go_to(here.context, there.context);
    restore(here);
}

void leave_for_new(Worker &worker, Suspension &here, Stack &stack, void (*loop)(Worker &worker)) {
    change_current(worker, &here, nullptr);
    worker.stack = &stack;
    worker.stack_loop = loop;
    go_to_new(here.context, stack, enter_new_stack, &worker);
    restore(here);
}

void abandon_for(Worker &worker, Suspension &there) {
    take_over(worker, there);
    change_current(worker, nullptr, there.base_task);
    worker.stacks.give(worker.stack);
    abandon_for(there.context);
}

} // namespace omp_ext
