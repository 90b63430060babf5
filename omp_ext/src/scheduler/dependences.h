// SPDX-License-Identifier: Apache-2.0
// Dependences among the children of a task: which of them must be complete before another may start. A table belongs to
// the task that creates the children, and is used by its thread alone; nodes are shared, and counted.
//
// mutexinoutset is taken as inout: such tasks run one after another, in the order of their creation.
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

// A task with dependences. Alive while a table, a predecessor or its own task refers to it.
struct DependenceNode;

// Enters a task as the successor of earlier ones; makes the table if there is none. Returns its node, which the caller
// owns; it is not ready before release_creation.
DependenceNode *enter(DependenceTable *&table, const Dependence *dependences, int n, Task *task);

// The node of a task that does not become the predecessor of any: waits only. *null table: nothing to wait for.
DependenceNode *enter_wait(DependenceTable *table, const Dependence *dependences, int n);

// The creation is done. True: all predecessors are complete, and it is the caller who starts the task.
bool release_creation(DependenceNode *node);

// For nodes of enter_wait: are all predecessors complete?
bool is_ready(const DependenceNode *node);

// For nodes of enter_wait that are not ready: whoever completes the last predecessor resumes this. False: all are complete.
bool arm(DependenceNode *node, Suspension &suspension);

// Gives up the caller's reference.
void give_back(DependenceNode *node);

// The task is complete: start(successor) is called for each task that becomes ready by it, resume for each armed wait.
// Gives up the reference.
void complete(DependenceNode *node, void (*start)(void *context, Task *task), void *context,
              void (*resume)(Suspension &suspension));

void destroy(DependenceTable *table);

} // namespace omp_ext
