// SPDX-License-Identifier: Apache-2.0
// The functions of the OpenMP runtime that the scheduler needs. Implemented by libomp_tasks.cpp, except
// combine (libomp_reductions.cpp) and tasks_wait_for_children_only (libomp_runtime.cpp).
#pragma once

#include "scheduler/team.h"

namespace omp_ext::runtime {

// Runs a task from begin to completion; its memory may be freed on return. If `directly`, calls the program's routine
// itself, unless the task or a tool needs the other way: the runtime calls run_routine, which also calls end_body.
void execute(Worker &worker, Task &task, bool directly);

// Runs the body of a light task. Calls the routine of an untied task again as long as it asks for its next part.
void call_parts(Worker &worker, Task &task);
// Calls the destructors of a light task that has ended, and completes its proxy task.
void clean_up(Worker &worker, Task &task);

// Restores the runtime's settings from before the proxy task of the present task. Called before a light task runs on
// top of such a task.
void leave_proxy(Worker &worker);
// Restores the settings of the proxy task, after the light task.
void return_to_proxy(Worker &worker, Task &proxied);

// Fulfils the event of a detachable task in the runtime, which frees the task if its body has ended.
void fulfill(void *event);

// Combines all threads' copies into the reduction variables of a taskgroup that has ended, and frees `reductions`.
void combine(Worker &worker, TaskReductions *reductions);

// True if an OMPT tool may be active.
bool is_watched();

// True if the program's tasks wait only for their children: not for locks, events or other tasks by taskyield.
bool tasks_wait_for_children_only();

// Creates a base task in the current task. One call of return_to(), from any task, makes the base task's parent current
// again. Until then the parent has one more incomplete child.
void *make_base_task(Worker &worker);
void return_to(Worker &worker, void *base_task);

// Creates a base task for any number of returns, until end_lasting_base_task() in the same task. Returns null if a tool
// is active, because the tool would see each use.
void *make_lasting_base_task(Worker &worker);
void end_lasting_base_task(Worker &worker, void *base_task);

} // namespace omp_ext::runtime
