// SPDX-License-Identifier: Apache-2.0
// Work, span and the folded task graph of a trace. They do not depend on which thread ran a task, or when.
//
// A chain is work that must run one piece after another. The chain of a task begins at the creation of the task, or at
// the end of its last predecessor. After a wait, the task continues the longest of its own chain and the awaited tasks'
// chains. Tasks of one construct that were created in one group form a group, so groups form a tree. Tasks deeper than
// a limit count in the group of their construct at the limit.
#pragma once

#include <cstdint>
#include <vector>

#include "format/run_files.h"

namespace ompass {

struct TaskGraphOptions {
    uint32_t depth = 3; // levels of task nesting with separate groups; deeper levels are folded
    std::vector<uint32_t> expanded; // groups whose tasks are listed
    uint64_t max_tasks = 10'000; // most listed tasks, and most listed steps of the critical path
    bool on_processors = false; // work and span exclude preempted time
};

// Tasks of one construct that were created in one group. Group 0 is the program outside of every region.
struct GraphGroup {
    uint32_t parent = 0;
    uint32_t construct = 0; // construct of the tasks; for implicit tasks, of their region
    uint32_t depth = 0;
    bool folded = false; // includes tasks from deeper levels
    uint64_t n_tasks = 0; // deferred or implicit tasks that started
    uint64_t n_undeferred = 0;
    uint64_t n_other_thread = 0;
    uint64_t work_ticks = 0; // includes the undeferred tasks that ran inside these tasks
    uint64_t create_ticks = 0;
    uint64_t dispatch_ticks = 0;
    uint64_t max_ticks = 0; // longest task
    uint64_t preempted_ticks = 0; // part of work_ticks, unless on_processors
    uint64_t critical_ticks = 0; // on the critical path
    uint64_t n_critical = 0; // steps of the critical path
    uint64_t n_waits = 0; // taskwaits and ends of taskgroups in these tasks
};

// Dependences between tasks of two groups.
struct GroupDependence {
    uint32_t from = 0, to = 0;
    uint64_t n = 0;
};

// A part of one task on the critical path.
struct CriticalStep {
    uint64_t task = 0; // id; 0: the program outside of every region
    uint32_t group = 0;
    uint32_t thread = 0;
    uint64_t begin_ticks = 0; // position in the path
    uint64_t ticks = 0;
    uint64_t preempted_ticks = 0; // part of `ticks`, unless on_processors
    uint64_t start_time = 0; // start of the task
};

struct GraphTask {
    uint64_t id = 0, parent = 0;
    uint32_t group = 0, thread = 0;
    uint64_t created = 0, created_latest = 0, started = 0, completed = 0; // times
    uint64_t work_ticks = 0;
    uint64_t critical_ticks = 0;
};

struct TaskGraph {
    uint64_t work_ticks = 0; // inside parallel regions
    uint64_t outside_ticks = 0; // outside of them
    uint64_t span_ticks = 0; // whole critical path
    uint64_t span_preempted_ticks = 0; // part of span_ticks, unless on_processors
    uint64_t span_outside_ticks = 0; // part of span_ticks outside of regions
    uint64_t burdened_ticks = 0; // longest path with the costs of creation and dispatch
    uint64_t n_deferred = 0, n_undeferred = 0, n_dependences = 0;
    uint64_t n_taskgroup_ends = 0; // each is assumed to wait for all descendants of its task, in the taskgroup or not
    uint64_t n_dependent_waits = 0; // `taskwait depend`, whose predecessors are not recorded
    uint64_t n_out_of_order = 0; // events that were applied before their cause
    uint64_t n_steps = 0; // steps of the critical path, listed or not
    std::vector<GraphGroup> groups;
    std::vector<GroupDependence> dependences;
    std::vector<CriticalStep> critical; // in order; the first max_tasks
    std::vector<GraphTask> tasks; // tasks of expanded groups
};

// Builds the task graph of a run. A problem names file and byte; a run without a trace is a problem. Memory: four bytes
// per task or region, some 250 per task between creation and completion, and the steps of chains.
Problem build_task_graph(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph);

} // namespace ompass
