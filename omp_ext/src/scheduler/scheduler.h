// SPDX-License-Identifier: Apache-2.0
// The scheduler: which thread runs which task when; its waits are in task_waits.cpp. Knows tasks, teams and domains;
// nothing of any compiler's interface but the functions of runtime.h. All functions are called by the thread of the
// worker that they are given; an untied task may be on another thread, with another worker, when a function that waits
// returns.
//
// The task scheduling constraint of OpenMP holds: a thread that waits in a task starts only descendants of that task,
// unless it waits in a barrier or steps aside. So the tasks on a thread's stack are a chain of descendants,
// and all that its deque holds from `mark` on are descendants of its current task: created by that, or by tasks that it
// ran meanwhile. A held task is in the deque of a thread that can still come back to it, or in an inbox and thereby in
// its parent's list, where the parent's thread finds it. Therefore no set of waiting threads is stuck: the one that
// waits in the deepest task can run that task's children wherever they are, and the children of those.
//
// In strict mode a waiting task steps aside for others of its domain, or lets a small one run on top of it, and goes on when
// that is complete, as if it waited for it. All these waits are for tasks that began later: a child, or the one on top. So
// no circle of tasks waits for itself, as long as tasks wait for nobody but their children.
#pragma once

#include "scheduler/dependences.h"
#include "scheduler/team.h"

namespace omp_ext {

// Takes over a task that the current task created: now a child of it in every sense. May run it before it returns.
void hold(Worker &worker, Task &task);
// The same for a task with dependences; runs it when its predecessors are complete.
void hold_dependent(Worker &worker, Task &task, const Dependence *dependences, int n);

// Runs a task that was found (search.h), inside the current one.
void run(Worker &worker, Task &task);
void run_on_new_stack(Worker &worker, Task &task);
// On a new stack when little is left of the present one.
inline void run_on_top(Worker &worker, Task &task) {
    if (stack_is_half_used()) return run_on_new_stack(worker, task);
    run(worker, task);
}
// Runs a task that was never held, at once.
void run_at_once(Worker &worker, Task &task);

// Around a task that its creator runs itself, by a call that the compiler generated. `code`: what tools are told of a light
// one, or null.
void begin_undeferred(Worker &worker, Task &task, const void *code);
void end_undeferred(Worker &worker, Task &task); // a light task may be gone when this returns

// Waits for the children, for the completion of all tasks of the innermost taskgroup, for the predecessors of a task
// that is about to be run at once, and for all threads and tasks of the team. `kind`: for tools, as OMPT's;
// `is_followed`: by the runtime's own barrier.
void wait_for_children(Worker &worker);
void begin_group(Worker &worker);
void wait_for_group(Worker &worker);
bool end_group(Worker &worker); // waits as well; does the runtime know of the group?
void wait_for_predecessors(Worker &worker, const Dependence *dependences, int n);
void barrier(Worker &worker, int kind, bool is_followed = true);

// After wait_for_children: until the children are complete for the runtime too, a few instructions later.
void wait_for_the_finishing(Worker &worker);

// Something else that a task waits for in a team whose waits may step aside.
struct Awaited {
    virtual bool is_over() = 0; // and then the task has it
    // True: whoever gives it to the task resumes this. False: it has it now.
    virtual bool arm(Suspension &suspension) = 0;

protected:
    ~Awaited() = default;
};
// Nothing runs on top of the task meanwhile, for that might want what the task has.
void wait_aside(Worker &worker, Awaited &awaited);

// Runs one task if there is one for a thread that is in the current task.
void yield(Worker &worker);

// The body of an untied task has ended: back to the thread that began it, in the frames of which it lies.
void return_to_owner(Worker &began);

// Told once for each task by whatever runs it, between its last instruction and its completion in the runtime.
void end_body(Worker &worker, Task &task);
// The event of a detachable task was fulfilled, by any thread (null: one that is in no team). Before the runtime knows.
void fulfill(Worker *worker, Team &team, Task &task);

} // namespace omp_ext
