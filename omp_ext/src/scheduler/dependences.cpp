// SPDX-License-Identifier: Apache-2.0
// Dependence graphs, built as tasks are created.
#include "scheduler/dependences.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/checkers.h"
#include "scheduler/inbox.h"
#include "scheduler/task.h"
#include "tools/observer.h"

namespace omp_ext {

struct DependenceNode {
    Task *task; // null: a wait
    std::atomic<uint32_t> n_references;
    std::atomic<uint32_t>
        n_predecessors; // incomplete ones, plus one for the creation, plus kArmedNode in an armed wait
    Suspension *suspension = nullptr; // suspension of an armed wait
    SpinLock lock;
    bool is_complete = false; // under lock
    std::vector<DependenceNode *> successors; // under lock; each holds a reference
};

namespace {

constexpr uint32_t kArmedNode = uint32_t{1} << 31;

void add_reference(DependenceNode *node) { node->n_references.fetch_add(1, std::memory_order_relaxed); }

// The last accesses to some memory: tasks in `last` may run concurrently, after all tasks in `before`.
struct Accesses {
    DependenceKind kind = DependenceKind::kInOut;
    std::vector<DependenceNode *> last, before;
};

void clear(std::vector<DependenceNode *> &nodes) {
    for (DependenceNode *node : nodes) release_reference(node);
    nodes.clear();
}

// Makes `node` a successor of all incomplete nodes of `earlier`, and removes the complete ones from `earlier`.
void follow(DependenceNode *node, std::vector<DependenceNode *> &earlier) {
    size_t n_kept = 0;
    for (DependenceNode *predecessor : earlier) {
        if (predecessor == node) {
            earlier[n_kept++] = predecessor;
            continue;
        }
        predecessor->lock.lock();
        const bool is_complete = predecessor->is_complete;
        if (is_complete) {
            note_acquire(predecessor);
        } else {
            // If a task names an address twice, the newest successor is the task itself.
            if (predecessor->successors.empty() || predecessor->successors.back() != node) {
                add_reference(node);
                node->n_predecessors.fetch_add(1, std::memory_order_relaxed);
                predecessor->successors.push_back(node);
                // The predecessor's task exists, because it is incomplete.
                if (__builtin_expect(observer != nullptr, 0) && node->task && predecessor->task->seen)
                    notify(&omp_ext_observer::task_depends, predecessor->task->seen, node->task->seen);
            }
        }
        predecessor->lock.unlock();
        if (is_complete)
            release_reference(predecessor);
        else
            earlier[n_kept++] = predecessor;
    }
    earlier.resize(n_kept);
}

void follow(DependenceNode *node, Accesses &accesses, DependenceKind kind) {
    const bool joins = kind != DependenceKind::kInOut && kind == accesses.kind;
    follow(node, joins ? accesses.before : accesses.last);
}

// Makes room for one more node, and first removes the complete ones. Costs O(1) for each added node.
void make_room(std::vector<DependenceNode *> &nodes) {
    if (nodes.size() < nodes.capacity() || nodes.size() < 32) return;
    size_t n_kept = 0;
    for (DependenceNode *node : nodes) {
        node->lock.lock();
        const bool is_complete = node->is_complete;
        if (is_complete) note_acquire(node);
        node->lock.unlock();
        if (is_complete)
            release_reference(node);
        else
            nodes[n_kept++] = node;
    }
    nodes.resize(n_kept);
    if (n_kept > nodes.capacity() / 2) nodes.reserve(2 * nodes.capacity());
}

void record(DependenceNode *node, Accesses &accesses, DependenceKind kind) {
    if (kind == DependenceKind::kInOut || kind != accesses.kind) {
        clear(accesses.before);
        std::swap(accesses.before, accesses.last);
        accesses.kind = kind;
        if (kind == DependenceKind::kInOut) clear(accesses.before); // the node itself waits for them
    }
    if (!accesses.last.empty() && accesses.last.back() == node) return;
    add_reference(node);
    make_room(accesses.last);
    accesses.last.push_back(node);
}

DependenceNode *make_node(Task *task) {
    auto *node = new DependenceNode;
    node->task = task;
    node->n_references.store(1, std::memory_order_relaxed);
    node->n_predecessors.store(1, std::memory_order_relaxed);
    return node;
}

} // namespace

struct DependenceTable {
    std::unordered_map<const void *, Accesses> by_address;
    Accesses all; // accesses to all memory (omp_all_memory); each one empties by_address
};

namespace {

void follow_all(DependenceTable &table, DependenceNode *node, const Dependence &dependence) {
    follow(node, table.all.last);
    if (dependence.address) {
        const auto found = table.by_address.find(dependence.address);
        if (found != table.by_address.end()) follow(node, found->second, dependence.kind);
    } else {
        for (auto entry = table.by_address.begin(); entry != table.by_address.end();) {
            follow(node, entry->second.last);
            if (entry->second.last.empty()) { // then all are complete
                clear(entry->second.before);
                entry = table.by_address.erase(entry);
            } else {
                ++entry;
            }
        }
    }
}

} // namespace

DependenceNode *enter(DependenceTable *&table, const Dependence *dependences, int n, Task *task) {
    if (!table) table = new DependenceTable;
    DependenceNode *node = make_node(task);
    for (int i = 0; i < n; i++) follow_all(*table, node, dependences[i]);
    for (int i = 0; i < n; i++) {
        if (dependences[i].address) {
            record(node, table->by_address[dependences[i].address], dependences[i].kind);
            continue;
        }
        for (auto &[address, accesses] : table->by_address) {
            clear(accesses.last);
            clear(accesses.before);
        }
        table->by_address.clear();
        record(node, table->all, DependenceKind::kInOut);
        break; // all memory includes the other addresses
    }
    return node;
}

DependenceNode *enter_wait(DependenceTable *table, const Dependence *dependences, int n) {
    DependenceNode *node = make_node(nullptr);
    if (table)
        for (int i = 0; i < n; i++) follow_all(*table, node, dependences[i]);
    return node;
}

bool release_creation(DependenceNode *node) {
    return node->n_predecessors.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

bool is_ready(const DependenceNode *node) {
    return (node->n_predecessors.load(std::memory_order_acquire) & ~kArmedNode) == 0;
}

bool arm(DependenceNode *node, Suspension &suspension) {
    node->suspension = &suspension;
    return node->n_predecessors.fetch_add(kArmedNode, std::memory_order_acq_rel) != 0;
}

void release_reference(DependenceNode *node) {
    if (node->n_references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node;
}

void complete(DependenceNode *node, void (*start)(void *context, Task *task), void *context,
              void (*resume)(Suspension &suspension)) {
    note_release(node);
    node->lock.lock();
    node->is_complete = true;
    std::vector<DependenceNode *> successors;
    successors.swap(node->successors);
    node->lock.unlock();
    for (DependenceNode *successor : successors) {
        Task *task = successor->task;
        note_release(successor);
        const uint32_t n_before = successor->n_predecessors.fetch_sub(1, std::memory_order_acq_rel);
        if (n_before == 1 && task) start(context, task);
        if (n_before == kArmedNode + 1) resume(*successor->suspension);
        release_reference(successor);
    }
    release_reference(node);
}

void destroy(DependenceTable *table) {
    for (auto &[address, accesses] : table->by_address) {
        clear(accesses.last);
        clear(accesses.before);
    }
    clear(table->all.last);
    clear(table->all.before);
    delete table;
}

} // namespace omp_ext
