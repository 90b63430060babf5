// SPDX-License-Identifier: Apache-2.0
// What the scheduler asks of the OpenMP runtime. Implemented by libomp_tasks.cpp.
#pragma once

#include "scheduler/team.h"

namespace omp_ext::runtime {

// Runs a task in its proper context from begin to completion. Its memory may be gone when this returns. The routine is
// called through us, so that end_body is told, unless `directly`.
void execute(Member &member, Task &task, bool directly);

// The body of a light task, each part of it if it is untied. What it leaves to be done after that: the destructors of the
// program, and its companion.
void call_parts(Member &member, Task &task);
void clean_up(Member &member, Task &task);

// Around a light task that runs on top of one with a companion: it is older than that, and has the settings of before.
void leave_companion(Member &member);
void return_to_companion(Member &member, Task &accompanied);

// Does a tool look on?
bool is_watched();

// Do the program's tasks wait for nobody but their children? Not for each other by locks, events or taskyield.
bool tasks_wait_for_children_only();

// By an anchor, made in its current task, the runtime can be brought back to that task later, once, whatever is current
// then. Until then the task has one child more that is not complete.
void *make_anchor(Member &member);
void return_to(Member &member, void *anchor);

// The same with an anchor that lasts until it is ended in its task. Null where a tool looks on, which would see it begin
// each time.
void *make_lasting_anchor(Member &member);
void end_lasting_anchor(Member &member, void *anchor);

} // namespace omp_ext::runtime
