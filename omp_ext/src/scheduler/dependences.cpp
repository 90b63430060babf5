// SPDX-License-Identifier: Apache-2.0
// Dependence graphs, built as tasks are created.
#include "scheduler/dependences.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "scheduler/block_pool.h"
#include "scheduler/checkers.h"
#include "scheduler/task.h"
#include "tools/observer.h"

namespace omp_ext {

namespace {

using EdgeBlock = DependenceNode::EdgeBlock;

// A list of nodes. A list whose bits are all 0 is empty.
struct NodeList {
    static constexpr uint32_t kFew = 2;

    uint32_t n, capacity; // capacity 0: `few` has the nodes
    union {
        DependenceNode *few[kFew];
        DependenceNode **many;
    };

    DependenceNode **begin() { return capacity ? many : few; }
    DependenceNode **end() { return begin() + n; }

    // Removes the nodes for which keeps(node) is false.
    template <typename Keeps>
    void filter(Keeps &&keeps) {
        DependenceNode **kept = begin();
        for (DependenceNode **node = kept, **const last = end(); node != last; node++)
            if (keeps(*node)) *kept++ = *node;
        n = static_cast<uint32_t>(kept - begin());
    }

    bool is_full() const { return n == (capacity ? capacity : kFew); }
    void grow() {
        const uint32_t wider = capacity ? 2 * capacity : 4 * kFew;
        auto **nodes = static_cast<DependenceNode **>(realloc(capacity ? many : nullptr, wider * sizeof *many));
        if (!nodes) abort(); // as the runtime does
        if (!capacity) memcpy(nodes, few, sizeof few);
        many = nodes;
        capacity = wider;
    }
    void release_memory() {
        if (capacity) free(many);
        n = capacity = 0;
    }
};

// The last accesses to one address, or to all memory: tasks in `last` may run concurrently, after all tasks in
// `before`. A free place of the table has a null address and empty lists.
struct Accesses {
    const void *address;
    DependenceKind kind; // of `last`
    NodeList last, before;
};
static_assert(sizeof(Accesses) == BlockPool::kLine);

} // namespace

// A hash table with linear probing. When it is three quarters full, rebuild() removes complete tasks.
struct DependenceTable {
    Accesses *places; // 2^bits
    uint32_t bits;
    uint32_t n_used;
    Accesses all; // accesses to all memory (omp_all_memory); each one empties the places

    uint32_t capacity() const { return uint32_t{1} << bits; }
    uint32_t first_place(const void *address) const {
        return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15u) >> (64 - bits));
    }
    // Returns the entry of an address, or the free place for it.
    Accesses &at(const void *address) {
        uint32_t i = first_place(address);
        while (places[i].address && places[i].address != address) i = (i + 1) & (capacity() - 1);
        return places[i];
    }
};

namespace {

constexpr uint32_t kLeastBits = 4;
constexpr uint32_t kMuchRoom = 256; // a table with more places is worth shrinking
constexpr size_t kTableLines = (sizeof(DependenceTable) + BlockPool::kLine - 1) / BlockPool::kLine;

Accesses *make_places(BlockPool &blocks, uint32_t bits) {
    const size_t n = size_t{1} << bits;
    return static_cast<Accesses *>(memset(blocks.take(n), 0, n * sizeof(Accesses)));
}

// Removes a list's reference to a node. Frees the node if it is complete and in no other list.
void unlist(DependenceNode *node, BlockPool &blocks) {
    if (--node->n_lists == 0 && node->unlist()) free_node(node, blocks);
}

void clear(NodeList &list, BlockPool &blocks) {
    for (DependenceNode *node : list) unlist(node, blocks);
    list.n = 0;
}

void clear(Accesses &accesses, BlockPool &blocks) {
    clear(accesses.last, blocks);
    clear(accesses.before, blocks);
    accesses.last.release_memory();
    accesses.before.release_memory();
}

void remove_complete(NodeList &list, BlockPool &blocks) {
    list.filter([&](DependenceNode *node) {
        if (!node->is_complete()) return true;
        note_acquire(node);
        unlist(node, blocks);
        return false;
    });
}

// Removes complete tasks from the table, and makes room for `n_more` addresses.
[[gnu::noinline]] void rebuild(DependenceTable &table, BlockPool &blocks, uint32_t n_more) {
    uint32_t n_kept = 0;
    Accesses *const old = table.places;
    const uint32_t n_old = table.capacity();
    for (uint32_t i = 0; i < n_old; i++) {
        if (!old[i].address) continue;
        remove_complete(old[i].last, blocks);
        if (old[i].last.n == 0) { // then the tasks in `before` are complete, too
            clear(old[i], blocks);
            old[i].address = nullptr;
        } else {
            remove_complete(old[i].before, blocks);
            n_kept++;
        }
    }
    // Leaves room for many additions before the next rebuild.
    table.bits = std::max(kLeastBits, static_cast<uint32_t>(std::bit_width(3 * (n_kept + n_more) - 1)));
    table.places = make_places(blocks, table.bits);
    table.n_used = n_kept;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].address) table.at(old[i].address) = old[i];
    blocks.give(old, n_old);
}

void make_room(DependenceTable &table, BlockPool &blocks, uint32_t n_more) {
    if (4 * uint64_t{table.n_used + n_more} > 3 * uint64_t{table.capacity()}) rebuild(table, blocks, n_more);
}

void add_to(NodeList &list, DependenceNode *node, BlockPool &blocks) {
    node->n_lists++;
    if (__builtin_expect(list.is_full(), 0)) {
        // Removes complete nodes from long lists first, at an amortized cost of O(1) for each added node.
        if (list.n >= 32) remove_complete(list, blocks);
        if (list.n > list.capacity / 2) list.grow();
    }
    list.begin()[list.n++] = node;
}

// The creation of a node.
struct Creation {
    DependenceTable &table;
    BlockPool &blocks;
    DependenceNode &node;

    // Makes the new node a successor of `earlier`. Returns false if `earlier` is complete.
    bool follow(DependenceNode &earlier, DependenceNode::Link flags) const {
        if (&earlier == &node) return true;
        if (!earlier.add_successor(node, flags, [&] { return static_cast<EdgeBlock *>(blocks.take(1)); })) {
            note_acquire(&earlier);
            return false;
        }
        if (__builtin_expect(observer != nullptr, 0) && node.task && earlier.seen)
            notify(&omp_ext_observer::task_depends, earlier.seen, node.task->seen);
        return true;
    }
    // Makes the new node a successor of all incomplete nodes of `earlier`. Removes complete nodes from `earlier`.
    void follow(NodeList &earlier, DependenceNode::Link flags) const {
        earlier.filter([&](DependenceNode *one) {
            if (follow(*one, flags)) return true;
            unlist(one, blocks);
            return false;
        });
    }
    void follow(Accesses &accesses, DependenceKind kind) const {
        const bool joins = kind != DependenceKind::kInOut && kind == accesses.kind;
        follow(joins ? accesses.before : accesses.last,
               !joins && accesses.kind == DependenceKind::kIn ? DependenceNode::kAnti : 0);
    }
    // Makes the new node a successor of all tasks of the table.
    void follow_everything() const {
        uint32_t n_left = 0;
        for (uint32_t i = 0; i < table.capacity(); i++) {
            follow(table.places[i].last, 0);
            n_left += table.places[i].last.n > 0;
        }
        if (table.capacity() > kMuchRoom && 16 * uint64_t{n_left} < table.capacity()) rebuild(table, blocks, 1);
    }
    // Enters the new node as the newest access.
    void record(Accesses &accesses, DependenceKind kind) const {
        if (kind == DependenceKind::kInOut || kind != accesses.kind) {
            clear(accesses.before, blocks);
            std::swap(accesses.before, accesses.last);
            accesses.kind = kind;
            if (kind == DependenceKind::kInOut) clear(accesses.before, blocks); // later tasks follow the node only
        }
        NodeList &last = accesses.last;
        if (last.n == 0 || last.end()[-1] != &node) add_to(last, &node, blocks);
    }
    void enter(const Dependence &dependence) const {
        Accesses &accesses = table.at(dependence.address);
        if (!accesses.address) {
            accesses.address = dependence.address;
            table.n_used++;
        } else {
            follow(accesses, dependence.kind);
        }
        record(accesses, dependence.kind);
    }
    void enter_all_memory() const {
        follow_everything();
        for (uint32_t i = 0; i < table.capacity(); i++)
            if (table.places[i].address) clear(table.places[i], blocks);
        blocks.give(table.places, table.capacity());
        table.bits = kLeastBits;
        table.places = make_places(blocks, table.bits);
        table.n_used = 0;
        record(table.all, DependenceKind::kInOut);
    }
};

DependenceNode *make_node(BlockPool &blocks, Task *task) { return ::new (blocks.take(1)) DependenceNode(task); }

} // namespace

DependenceNode *enter(DependenceTable *&table, BlockPool &blocks, const Dependence *dependences, int n, Task *task) {
    if (!table) {
        table = ::new (blocks.take(kTableLines)) DependenceTable{};
        table->bits = kLeastBits;
        table->places = make_places(blocks, kLeastBits);
    }
    make_room(*table, blocks, static_cast<uint32_t>(n));
    for (int i = 0; i < n; i++) __builtin_prefetch(&table->places[table->first_place(dependences[i].address)], 1);
    DependenceNode *node = make_node(blocks, task);
    const Creation creation{*table, blocks, *node};
    if (__builtin_expect(table->all.last.n > 0, 0)) creation.follow(table->all.last, 0);
    for (int i = 0; i < n; i++) {
        if (__builtin_expect(!dependences[i].address, 0)) {
            creation.enter_all_memory();
            break; // all memory includes the other addresses
        }
        creation.enter(dependences[i]);
    }
    node->n_lists--;
    return node;
}

DependenceNode *enter_wait(DependenceTable &table, BlockPool &blocks, const Dependence *dependences, int n) {
    DependenceNode *node = make_node(blocks, nullptr);
    const Creation creation{table, blocks, *node};
    creation.follow(table.all.last, 0);
    for (int i = 0; i < n; i++)
        if (dependences[i].address)
            creation.follow(table.at(dependences[i].address), dependences[i].kind);
        else
            creation.follow_everything();
    return node;
}

bool release_creation(DependenceNode *node) {
    void *seen = __builtin_expect(observer != nullptr, 0) && node->task ? node->task->seen : nullptr;
    const bool is_ready = node->end_creation();
    node->seen = seen;
    return is_ready;
}

bool complete(DependenceNode *node, void (*start)(void *context, Task *task), void *context,
              void (*resume)(Suspension &suspension)) {
    note_release(node);
    // Starts the oldest successor that uses the results of this node's task after all others. The thread runs first the
    // task that is started last, so this successor finds the results in the caches.
    Task *last = nullptr;
    const bool must_free = node->close([&](DependenceNode &successor, DependenceNode::Link flags) {
        Task *task = successor.task;
        note_release(&successor);
        const uint32_t n_before = successor.release_one();
        if (n_before == DependenceNode::kArmed + 1) return resume(*successor.suspension);
        if (n_before != 1 || !task) return;
        if (!(flags & DependenceNode::kAnti)) std::swap(task, last);
        if (task) start(context, task);
    });
    if (last) start(context, last);
    return must_free;
}

namespace {

template <typename Give>
void free_lines(DependenceNode *node, Give &&give) {
    for (EdgeBlock *block = node->blocks; block;) {
        EdgeBlock *next = block->next;
        give(block);
        block = next;
    }
    give(node);
}

} // namespace

void free_node(DependenceNode *node, BlockPool &blocks) {
    free_lines(node, [&](void *line) { blocks.give(line, 1); });
}

void give_node_back(DependenceNode *node, BlockPool &maker) {
    free_lines(node, [&](void *line) { maker.give_back(line, 1, false); });
}

bool is_empty(const DependenceTable &table) { return table.n_used == 0 && table.all.last.n == 0; }

void clear(DependenceTable &table, BlockPool &blocks) {
    clear(table.all, blocks);
    for (uint32_t i = 0; i < table.capacity() && table.n_used > 0; i++) {
        if (!table.places[i].address) continue;
        clear(table.places[i], blocks);
        table.places[i].address = nullptr;
        table.n_used--;
    }
}

void destroy(DependenceTable *table, BlockPool &blocks) {
    clear(*table, blocks);
    blocks.give(table->places, table->capacity());
    blocks.give(table, kTableLines);
}

} // namespace omp_ext
