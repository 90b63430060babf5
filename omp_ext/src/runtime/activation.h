// SPDX-License-Identifier: Apache-2.0
// Decides if the library schedules the program. Implemented by libomp_runtime.cpp.
#pragma once

namespace omp_ext {

// True if the library schedules regions that begin now.
bool is_active();

// Schedules the program from the next region on, unless OMP_EXT_SCHEDULE=0 or the runtime is unknown. Called when the
// program asks for placement.
void activate();

// Makes all new tasks runtime tasks, for a tool that must see them.
void give_tasks_to_the_runtime();

// Notes that waiting tasks may be suspended from now on.
void note_strict();

// Notes a new observer. Makes all new tasks runtime tasks unless the observer is in the same library as the OMPT tool:
// a tool in another library would not see light tasks. Called before the first region.
void note_observer();

} // namespace omp_ext
