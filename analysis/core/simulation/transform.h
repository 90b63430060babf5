// SPDX-License-Identifier: Apache-2.0
// Task programs as their authors could have written them instead: the same work, in other tasks. Pure functions; tasks that
// a new program does without stay in its list, where nobody creates them.
#pragma once

#include "task_program.h"

namespace ompass::simulation {

// Of tasks of `construct` that one task creates in a row and that neither create, wait nor depend on others, each `grain`
// become one: taskloops with a larger grain size.
TaskProgram coarsen(const TaskProgram &program, uint16_t construct, uint32_t grain);

// Tasks that create `least` or more of `construct` in a row share this out to `n_parts` tasks, which create them and wait.
TaskProgram spread(const TaskProgram &program, uint16_t construct, uint32_t least, uint32_t n_parts);

// Tasks of `construct` that create tasks in phases, each ended by a taskwait, do without these waits but the last: what
// dependences in place of the waits could give at most.
TaskProgram join_phases(const TaskProgram &program, uint16_t construct);

// Deferred tasks of `construct` that have none of it above them, n of them in the order of creation, are placed with all below
// them: the first n / n_domains in domain 0, and so on.
TaskProgram place_subtrees(const TaskProgram &program, uint16_t construct, uint32_t n_domains);

// What of this could be tried, by construct.
struct Shape {
    uint64_t n_tasks = 0;
    uint64_t most_in_a_row = 0; // created by one task with nothing but its work in between
    uint64_t most_phases = 0; // creations, each ended by a taskwait, in one task
    uint32_t deepest = 0;
};
std::vector<Shape> shapes_of(const TaskProgram &program);

} // namespace ompass::simulation
