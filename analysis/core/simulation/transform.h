// SPDX-License-Identifier: Apache-2.0
// Derives programs that divide the same work into other tasks, as their authors could have written them. Pure
// functions. The task list of a new program keeps tasks that the program no longer creates.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Merges every `grain` tasks of `construct` that one task creates in a row, if they create no tasks, do not wait and
// have no dependences. The result is like a taskloop with a larger grain size.
TaskProgram coarsen(const TaskProgram &program, uint16_t construct, uint32_t grain);

// Adds work before all other work of the program, for the time before the recording began.
TaskProgram with_earlier_work(const TaskProgram &program, uint64_t ns);

// Replaces each construct i with construct instead[i].
TaskProgram with_constructs(const TaskProgram &program, const std::vector<uint16_t> &instead);

// Divides each task of `construct` that only works and has no dependences into tasks of equal work, none longer than
// 1 / n_parts of the longest such task. The result is like a taskloop with a smaller grain size.
TaskProgram refine(const TaskProgram &program, uint16_t construct, uint32_t n_parts);

// If one task creates `least` or more tasks of `construct` in a row, lets n_parts new tasks create them. The new tasks
// wait for the tasks that they create. A row with a task that has dependences does not change, because depend clauses
// order only tasks of one creator.
TaskProgram spread(const TaskProgram &program, uint16_t construct, uint32_t least, uint32_t n_parts);

// Removes all taskwaits and ends of taskgroups, except the last, from tasks of `construct`. Such tasks create tasks in
// phases that end with a wait. The result bounds the gain from dependences in place of the waits.
TaskProgram join_phases(const TaskProgram &program, uint16_t construct);

// Replaces the taskwaits in tasks of `construct`, except the last, with the dependences that the declared data of
// kernels require. A task depends on a task of an earlier phase if both touch the same data and one of them writes it.
// A taskwait remains if, in the phase before or after it, the waiting task touches data itself or creates tasks without
// declared data.
TaskProgram depend_on_data(const TaskProgram &program, uint16_t construct);

// Makes the deferred tasks of `construct` untied.
TaskProgram untie(const TaskProgram &program, uint16_t construct);

// Limits the recorded time of each creation of a deferred task of `construct` to most_ns, as if it copied no data.
TaskProgram limit_creations(const TaskProgram &program, uint16_t construct, uint32_t most_ns);

// Gives the deferred tasks of `construct` a priority above all others.
TaskProgram prioritise(const TaskProgram &program, uint16_t construct);

// Reverses the order of the priorities of the deferred tasks of `construct`.
TaskProgram reverse_priorities(const TaskProgram &program, uint16_t construct);

// Gives all threads an equal share of the work in each instance of the worksharing loop. The result bounds the gain
// from another schedule. Does not change instances in which threads do more than work.
TaskProgram balance_loop(const TaskProgram &program, uint16_t construct);

// Turns the loop into a taskloop: the first thread creates n_tasks tasks of equal work and waits for them.
TaskProgram loop_to_tasks(const TaskProgram &program, uint16_t construct, uint32_t n_tasks);

// Makes the chunks of the loop `factor` times as large, which saves chunk_ns for each omitted chunk.
TaskProgram enlarge_chunks(const TaskProgram &program, uint16_t construct, uint32_t factor, uint32_t chunk_ns);

// Divides the loops between the threads of a team of n_threads. Adds implicit tasks if this team is larger than the
// recorded team. In a static loop, each thread takes one block of consecutive iterations or, with a chunk size, an
// equal share of the work. In a dynamic or guided loop, the first free thread takes the next chunk. The iterations or
// chunks that one thread executed in the recording are assumed to be equally long. Does not change instances in which
// threads do more than work. A team that was smaller than the largest recorded one does not grow.
TaskProgram share_loops(const TaskProgram &program, uint32_t n_threads);

// Places the outermost deferred tasks of `construct`, with their descendants: of n such tasks, the first n / n_domains
// in domain 0, and so on. All other tasks get no home.
TaskProgram place_subtrees(const TaskProgram &program, uint16_t construct, uint32_t n_domains);

// The properties of a task construct that decide which of these functions apply.
struct Shape {
    uint64_t n_tasks = 0;
    uint64_t n_deferred = 0; // part of n_tasks
    uint64_t n_untied = 0; // part of n_tasks
    uint64_t create_ns = 0; // recorded time of the creations of deferred tasks
    uint64_t n_priorities = 0; // different priorities of its deferred tasks
    uint64_t n_iterations = 0; // iterations of the taskloops that created its tasks
    uint64_t most_in_a_row = 0; // tasks that one task creates with only work in between
    uint64_t most_phases = 0; // phases of creations in one task; each ends with a taskwait or taskgroup
    uint16_t wait = 0; // construct of the last of these waits; 0: unknown
    uint16_t most_of = 0; // construct with most of the tasks' work: their own, or one of undeferred tasks in them
    uint64_t n_divisible = 0; // tasks that refine() may divide
    uint64_t divisible_ns = 0, longest_ns = 0; // work of all these tasks, and of the longest
    uint32_t deepest = 0;
};
std::vector<Shape> shapes_of(const TaskProgram &program);

// A worksharing loop to which the functions for loops apply.
struct LoopShape {
    uint64_t n_instances = 0;
    uint64_t n_chunks = 0; // 0: unknown
    uint64_t n_iterations = 0; // 0: unknown
    bool is_static = false;
    uint64_t work_ns = 0; // work of all threads
    uint64_t longest_ns = 0; // sum, over the instances, of the slowest thread's work
};
std::map<uint16_t, LoopShape> loops_of(const TaskProgram &program);

// Numbers of instances of worksharing loops, except in teams that do not grow. share_loops() changes shared instances,
// and does not change kept ones.
struct LoopCounts {
    uint64_t n_shared = 0, n_kept = 0;
    uint64_t kept_ns = 0; // work in kept loops
    uint64_t equal_ns = 0; // work of teams of one in shared loops, divided into equal iterations
};
LoopCounts count_loops(const TaskProgram &program);

} // namespace ompass::simulation
