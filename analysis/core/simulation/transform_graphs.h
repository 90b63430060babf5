// SPDX-License-Identifier: Apache-2.0
// Finds graphs of tasks that a program creates again and again, and replays them: `taskgraph` of OpenMP 6.0 records the
// tasks that it creates, and later starts them from this record. Pure functions, as in transform.h.
#pragma once

#include <cstdint>
#include <map>

#include "task_program.h"

namespace ompass::simulation {

// Graphs at one place. A graph is the deferred tasks that one task creates up to its next wait or barrier, with the
// dependences between them. A place is a construct of the creating task, of the wait, and of the first task. All graphs
// at a place are alike: the same constructs in the same order, with the same dependences.
struct GraphShape {
    uint64_t n_graphs = 0; // graphs except the first of each creator
    uint64_t n_tasks = 0; // tasks of the largest of them
    uint64_t n_replayed = 0; // tasks of all of them, which replay_graphs() marks
    uint64_t create_ns = 0; // recorded time of their creation
};

// Returns the places where one task, or the implicit tasks of one region construct, create three graphs or more, by the
// construct of the first task. Leaves out places whose graphs differ.
std::map<uint16_t, GraphShape> graphs_of(const TaskProgram &program);

// Marks the tasks of all these graphs that begin with a task of `construct`, except each first graph, as kReplayed.
TaskProgram replay_graphs(const TaskProgram &program, uint16_t construct);

} // namespace ompass::simulation
