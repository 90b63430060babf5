// SPDX-License-Identifier: Apache-2.0
// Dependences among the children of a task: a child starts when all its predecessors are complete. A table belongs to
// the creating task, and only the thread of this task uses it. dependence_node.h has the protocol between that thread
// and others.
//
// `blocks` is the calling thread's pool, which provides the memory of tables and nodes.
//
// mutexinoutset counts as inout: such tasks run one after another, in the order of their creation.
#pragma once

#include <cstdint>

#include "scheduler/dependence_node.h"

namespace omp_ext {

class BlockPool;
struct DependenceTable;

enum class DependenceKind : uint8_t { kIn, kInOut, kInOutSet };

struct Dependence {
    const void *address; // null: all memory
    DependenceKind kind;
};

// Enters a task as a successor of earlier tasks, and returns its node. Makes the table if there is none. The node is
// not ready before release_creation.
DependenceNode *enter(DependenceTable *&table, BlockPool &blocks, const Dependence *dependences, int n, Task *task);

// Makes a node for a wait, without successors. The caller frees it when it is ready.
DependenceNode *enter_wait(DependenceTable &table, BlockPool &blocks, const Dependence *dependences, int n);

// Ends the creation of a node. Returns true if all predecessors are complete; then the caller starts the task.
bool release_creation(DependenceNode *node);

// Completes a task. Calls start(successor) for each task that becomes ready, and resume(suspension) for each armed wait
// that becomes ready. The task that is started last profits most from the caches. Returns true if the caller must free
// the node.
bool complete(DependenceNode *node, void (*start)(void *context, Task *task), void *context,
              void (*resume)(Suspension &suspension));

// free_node: frees a node that the calling thread made. give_node_back: returns a node to the pool of the thread that
// made it.
void free_node(DependenceNode *node, BlockPool &blocks);
void give_node_back(DependenceNode *node, BlockPool &maker);

// True if the table holds no task.
bool is_empty(const DependenceTable &table);
// Removes all tasks from the table.
void clear(DependenceTable &table, BlockPool &blocks);
// Removes all tasks from the table and frees it.
void destroy(DependenceTable *table, BlockPool &blocks);

} // namespace omp_ext
