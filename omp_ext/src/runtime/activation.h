// SPDX-License-Identifier: Apache-2.0
// Whether the library schedules. Implemented by libomp_runtime.cpp.
#pragma once

namespace omp_ext {

// Regions that begin now are the scheduler's.
bool is_active();

// The program asks for placement: from the next region on it is scheduled, unless OMP_EXT_SCHEDULE=0 or the runtime is
// none that we know.
void activate();

// A tool wants to know of all tasks: those created from now on are known to the runtime.
void give_tasks_to_the_runtime();

// Waits may step aside from now on.
void note_strict();

// An observer came, which may be a tool that need not see all tasks through the runtime. Before the first region.
void note_observer();

} // namespace omp_ext
