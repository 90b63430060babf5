// SPDX-License-Identifier: Apache-2.0
// Dependences among the children of a task: which of them must be complete before another starts. A table belongs to
// the creating task and is used by its thread only; nodes are shared and reference-counted.
//
// mutexinoutset counts as inout: such tasks run one after another, in the order of their creation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omp_ext {

struct Task;
struct DependenceTable;
struct Suspension;

enum class DependenceKind : uint8_t { kIn, kInOut, kInOutSet };

struct Dependence {
    const void *address; // null: all memory
    DependenceKind kind;
};

// A task with dependences. A table, a predecessor and the task itself each hold a reference.
struct DependenceNode;

// Enters a task as a successor of earlier ones; makes the table if there is none. Returns the task's node, owned by the
// caller. The node is not ready before release_creation.
DependenceNode *enter(DependenceTable *&table, const Dependence *dependences, int n, Task *task);

// Makes a node for a wait, without successors. If the table is null, there is nothing to wait for.
DependenceNode *enter_wait(DependenceTable *table, const Dependence *dependences, int n);

// Ends the creation. Returns true if all predecessors are complete; then the caller starts the task.
bool release_creation(DependenceNode *node);

// True if all predecessors of a node of enter_wait are complete.
bool is_ready(const DependenceNode *node);

// Arms a node of enter_wait: completing its last predecessor resumes the wait. Returns false if all are complete.
bool arm(DependenceNode *node, Suspension &suspension);

// Releases the caller's reference.
void release_reference(DependenceNode *node);

// Completes a task and releases the reference. Calls start(successor) for each task that becomes ready, and resume for
// each armed wait.
void complete(DependenceNode *node, void (*start)(void *context, Task *task), void *context,
              void (*resume)(Suspension &suspension));

void destroy(DependenceTable *table);

} // namespace omp_ext
