// SPDX-License-Identifier: Apache-2.0
// Task programs as their authors could have written them instead: the same work, in other tasks. Pure functions; tasks that
// a new program does without stay in its list, where nobody creates them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Of tasks of `construct` that one task creates in a row and that neither create, wait nor depend on others, each `grain`
// become one: taskloops with a larger grain size.
TaskProgram coarsen(const TaskProgram &program, uint16_t construct, uint32_t grain);

// Tasks of `construct` that do nothing but work and depend on no others are n_parts each, of equal work: taskloops with a
// smaller grain size.
TaskProgram refine(const TaskProgram &program, uint16_t construct, uint32_t n_parts);

// Tasks that create `least` or more of `construct` in a row share this out to `n_parts` tasks, which create them and wait.
TaskProgram spread(const TaskProgram &program, uint16_t construct, uint32_t least, uint32_t n_parts);

// Tasks of `construct` that create tasks in phases, each ended by a taskwait, do without these waits but the last: what
// dependences in place of the waits could give at most.
TaskProgram join_phases(const TaskProgram &program, uint16_t construct);

// The same, with dependences in place of the waits, as the data demand that kernels declare: of a task on those of the phases
// before that wrote what it touches, or touched what it writes. Waits stay where a task touches data itself, or creates tasks
// that declare none.
TaskProgram depend_on_data(const TaskProgram &program, uint16_t construct);

// Deferred tasks of `construct` have the flag too: kUntied, or kUrgent, a priority above that of others.
TaskProgram flagged(const TaskProgram &program, uint16_t construct, ProgramTask::Flag flag);

// Each instance of the worksharing loop takes its threads equally long: what another schedule could give at most. Instances
// in which threads do anything but work stay as they are.
TaskProgram balance_loop(const TaskProgram &program, uint16_t construct);

// The same loop as a taskloop: the first thread creates n_tasks tasks of equal work and waits for them.
TaskProgram loop_to_tasks(const TaskProgram &program, uint16_t construct, uint32_t n_tasks);

// The same loop with chunks `factor` times as large, of which each takes chunk_ns to come by.
TaskProgram enlarge_chunks(const TaskProgram &program, uint16_t construct, uint32_t factor, uint32_t chunk_ns);

// Deferred tasks of `construct` that have none of it above them, n of them in the order of creation, are placed with all below
// them: the first n / n_domains in domain 0, and so on.
TaskProgram place_subtrees(const TaskProgram &program, uint16_t construct, uint32_t n_domains);

// What of this could be tried, by construct.
struct Shape {
    uint64_t n_tasks = 0;
    uint64_t n_deferred = 0; // part of n_tasks
    uint64_t n_untied = 0; // part of n_tasks
    uint64_t n_iterations = 0; // of the taskloops that created them
    uint64_t most_in_a_row = 0; // created by one task with nothing but its work in between
    uint64_t most_phases = 0; // creations, each ended by a taskwait, in one task
    uint16_t wait = 0; // construct of the last of these taskwaits; 0: not known
    uint32_t deepest = 0;
};
std::vector<Shape> shapes_of(const TaskProgram &program);

// A worksharing loop whose instances balance_loop() and the others can change.
struct LoopShape {
    uint64_t n_instances = 0;
    uint64_t n_chunks = 0; // 0: not known
    uint64_t work_ns = 0; // of all threads
    uint64_t longest_ns = 0; // of the slowest thread of each instance, in all
};
std::map<uint16_t, LoopShape> loops_of(const TaskProgram &program);

} // namespace ompass::simulation
