// SPDX-License-Identifier: Apache-2.0
// Runs tasks at once in the thread that creates them, where queues cost more than they gain: if the thread's deque is
// full, or if the tasks are so short that other threads need longer to fetch one than to run it. Owns these limits, and
// the limit on tasks that wait for dependences. All functions are called by the worker's thread.
//
// Short tasks. The thread measures, in batches, the tasks that it runs at once because its deque is full. If the tasks
// of a batch were short and created no tasks, the current task has_short_children: later tasks of the same constructs
// run at once, too. This ends with the next wait for the children, or when the recent tasks were not short on average.
// So a few long tasks among many short ones reach other threads.
#pragma once

#include <cstdint>

#include "scheduler/team.h"

namespace omp_ext {

inline constexpr uint32_t kPaceBatch = 16; // tasks between two clock readings
inline constexpr uint32_t kDependentBatch = 64; // tasks with dependences created between two calls of work_off

// Runs a new task if it should run at once. Returns false if it must be queued. `may_run`: false to queue it anyway.
// Called if the deque has reached the worker's throttle_threshold, or the current task has_short_children.
bool run_at_creation(Worker &worker, Task &task, bool may_run);

// True if run_at_creation runs every child of the task's construct now.
bool runs_at_creation(const Worker &worker, const Task &task);

// Runs a task that a wait found, on top of the wait. Measures some of the tasks that other workers created. If these
// are short, makes their creator measure its next tasks, which it would otherwise do only when its queue is full.
void run_found(Worker &worker, Task &task);

// Runs a new child of the current task, and measures it.
void run_now(Worker &worker, Task &task);

// Returns the construct of a task as a set with one element, for Pace::constructs.
inline uint64_t set_of(const void *code) {
    return uint64_t{1} << (reinterpret_cast<uintptr_t>(code) * 0x9E3779B97F4A7C15u >> 58);
}

inline uint64_t n_created(const Worker &worker) { return worker.n_created.load(std::memory_order_relaxed); }

// Judges the batch, and begins the next one. If the batch had another parent, only begins one.
void end_batch(Worker &worker);

// Notes tasks of one construct that the current task created and ran at once. `n_descendants`: tasks that they created.
[[gnu::always_inline]] inline void note_runs(Worker &worker, const void *code, uint32_t n_tasks,
                                             uint64_t n_descendants) {
    Pace &pace = worker.pace;
    pace.constructs |= set_of(code);
    pace.n_descendants += n_descendants;
    pace.n_tasks += n_tasks;
    if (pace.n_tasks >= pace.batch || pace.parent != worker.current) end_batch(worker);
}

// True if a new child of the current task has no predecessors, because the table of dependences is empty or all
// children are complete. Then empties the table.
bool has_no_predecessors(Worker &worker);

// Runs tasks if very many children of the current task are incomplete, because waiting tasks fill memory and leave the
// caches before they run. While other threads are idle, does so only now and then. If the tasks are short, continues
// until all children are complete or only other threads can complete the rest.
void work_off(Worker &worker);

} // namespace omp_ext
