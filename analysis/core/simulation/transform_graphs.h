// SPDX-License-Identifier: Apache-2.0
// Simulates `taskgraph` of OpenMP 6.0, which records the tasks that it creates, and later starts them from this record.
// Finds graphs of tasks that a program creates repeatedly, and marks their replays. Pure functions, as in transform.h.
#pragma once

#include <cstdint>
#include <map>

#include "task_program.h"

namespace ompass::simulation {

// The replays of graphs. A graph is the deferred tasks that one task creates up to its next wait or barrier, with the
// dependences between them. The constructs of the creating task, of the wait and of the first task identify its place.
// The graphs at a place are alike if they have the same constructs in the same order, with the same dependences.
struct GraphShape {
    uint64_t n_graphs = 0; // replayed graphs: all except the first of each creator
    uint64_t n_tasks = 0; // tasks of the largest of these graphs
    uint64_t n_replayed = 0; // tasks of all of these graphs, which replay_graphs() marks
    uint64_t create_ns = 0; // recorded time of their creation
};

// Finds the places where one task, or the implicit tasks of one region construct, create three or more graphs. Returns
// the replays of these graphs by the construct of the first task. Leaves out places whose graphs differ.
std::map<uint16_t, GraphShape> graphs_of(const TaskProgram &program);

// Marks as kReplayed the tasks of the replays that graphs_of() returns for `construct`.
TaskProgram replay_graphs(const TaskProgram &program, uint16_t construct);

} // namespace ompass::simulation
