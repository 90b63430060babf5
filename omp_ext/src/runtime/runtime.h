// SPDX-License-Identifier: Apache-2.0
// What the scheduler asks of the OpenMP runtime. Implemented by libomp_tasks.cpp.
#pragma once

#include "scheduler/team.h"

namespace omp_ext::runtime {

// Runs a task in its proper context from begin to completion. Its memory may be gone when this returns. The routine is
// called through us, so that end_body is told, unless `directly`.
void execute(Worker &worker, Task &task, bool directly);

// The body of a light task, each part of it if it is untied. What it leaves to be done after that: the destructors of the
// program, and its proxy task.
void call_parts(Worker &worker, Task &task);
void clean_up(Worker &worker, Task &task);

// Around a light task that runs on top of one with a proxy task: it is older than that, and has the settings of before.
void leave_proxy(Worker &worker);
void return_to_proxy(Worker &worker, Task &proxied);

// Does a tool look on?
bool is_watched();

// Do the program's tasks wait for nobody but their children? Not for each other by locks, events or taskyield.
bool tasks_wait_for_children_only();

// By a base task, made in its current task, the runtime can be brought back to that task later, once, whatever is current
// then. Until then the task has one child more that is not complete.
void *make_base_task(Worker &worker);
void return_to(Worker &worker, void *base_task);

// The same with a base task that lasts until it is ended in its task. Null where a tool looks on, which would see it begin
// each time.
void *make_lasting_base_task(Worker &worker);
void end_lasting_base_task(Worker &worker, void *base_task);

} // namespace omp_ext::runtime
