// SPDX-License-Identifier: Apache-2.0
// A node of a dependence graph: a task with dependences, or a wait for such tasks. Owns the protocol by which the
// thread that creates tasks and the threads that complete them agree on successors, without a lock. dependences.cpp
// decides which nodes follow which.
//
// Contract. One thread at a time, the creator, makes and lists nodes and adds edges to them. Exactly one thread closes
// the node of a task, when the task is complete. The creator stops using a node when no list refers to it (unlist).
// The later call of the two, unlist or close, frees the node.
//
// Invariants: n_predecessors = incomplete predecessors, + kCreation - n_edges until end_creation, + kArmed in an armed
// wait. Only the creator changes `successors` until close() makes it kComplete for good. So the creator's exchange
// fails only if the node is complete. Edges lie in the waiting node, and beyond kOwnEdges in its EdgeBlocks.
// Tests pass their own atomics as the template argument, to choose the interleaving.
#pragma once

#include <atomic>
#include <cstdint>

namespace omp_ext {

struct Task;
struct Suspension;

template <template <typename> class Atomic>
struct alignas(64) GraphNode {
    // A link is the address of an edge, with flags of that edge in the lower bits. The edge holds the link to the next
    // edge of the same predecessor.
    using Link = uintptr_t;
    static constexpr Link kUnlisted = 1; // in `successors` only: the thread that closes the node frees it
    static constexpr Link kAnti = 2; // the predecessor only read the memory that the successor writes
    static constexpr Link kInBlock = 4; // the edge is in an EdgeBlock
    static constexpr Link kFlags = 7;
    static constexpr Link kComplete = kAnti; // a flag without an edge
    static constexpr uint32_t kCreation = uint32_t{1} << 30;
    static constexpr uint32_t kArmed = uint32_t{1} << 31;

    // Edges of a node with many predecessors.
    struct alignas(64) EdgeBlock {
        GraphNode *node;
        EdgeBlock *next; // an older block of the node
        Link edges[6];
    };
    static constexpr uint32_t kOwnEdges = 3, kBlockEdges = 6;

    explicit GraphNode(Task *its_task) : task(its_task) {}

    Atomic<Link> successors{0}; // newest edge; or kComplete
    Atomic<uint32_t> n_predecessors{kCreation};
    uint32_t n_lists = 1; // creator: lists that refer to the node, plus one for the creation
    Task *const task; // null: a wait
    union {
        uint32_t n_edges = 0; // creator, until end_creation
        void *seen; // creator: the tool's data of the task
        Suspension *suspension; // of an armed wait
    };
    Link edges[kOwnEdges];
    EdgeBlock *blocks = nullptr; // newest first

    // Any thread.
    bool is_complete() const { return successors.load(std::memory_order_acquire) == kComplete; }
    bool is_ready() const { return (n_predecessors.load(std::memory_order_acquire) & ~kArmed) == 0; }

    // Creator. Makes `node` a successor of this node, once. Returns false if this node is complete. Calls new_block()
    // for memory if `node` has no room for another edge.
    template <typename NewBlock>
    bool add_successor(GraphNode &node, Link flags, NewBlock &&new_block) {
        Link newest = successors.load(std::memory_order_acquire);
        if (newest == kComplete) return false;
        const uintptr_t newest_line = newest & ~(kLine - 1);
        if (newest_line == address(&node) || (newest && newest_line == address(node.blocks))) return true;
        const Link edge = node.next_edge(new_block);
        *edge_at(edge) = newest;
        if (!successors.compare_exchange_strong(newest, edge | flags, std::memory_order_acq_rel,
                                                std::memory_order_acquire))
            return false;
        node.n_edges++;
        return true;
    }

    // Creator. Ends the creation of a node. Returns true if all predecessors are complete.
    bool end_creation() {
        const uint32_t rest = kCreation - n_edges;
        if (rest != kCreation) return n_predecessors.fetch_sub(rest, std::memory_order_acq_rel) == rest;
        n_predecessors.store(0, std::memory_order_relaxed); // no other thread knows the node
        return true;
    }

    // Creator. Notes that no list refers to the node. Returns true if it is complete and must be freed now.
    bool unlist() {
        Link newest = successors.load(std::memory_order_acquire);
        return newest == kComplete ||
               !successors.compare_exchange_strong(newest, newest | kUnlisted, std::memory_order_acq_rel,
                                                   std::memory_order_acquire);
    }

    // The completing thread. Calls release(successor, flags) for each successor. Returns true if the caller must free
    // the node; else another thread may have freed the node already.
    template <typename Release>
    bool close(Release &&release) {
        const Link last = successors.exchange(kComplete, std::memory_order_acq_rel);
        for (Link link = last & ~kUnlisted; link;) {
            GraphNode &successor = *node_of(link);
            const Link flags = link & kFlags;
            link = *edge_at(link); // the successor may be gone after its release
            if (link) __builtin_prefetch(edge_at(link), 1);
            release(successor, flags);
        }
        return last & kUnlisted;
    }

    // The thread that completes a predecessor. Returns the previous n_predecessors.
    uint32_t release_one() { return n_predecessors.fetch_sub(1, std::memory_order_acq_rel); }

    // The creator of a wait, after end_creation. Returns false if all predecessors are complete.
    bool arm(Suspension &its_suspension) {
        suspension = &its_suspension;
        return n_predecessors.fetch_add(kArmed, std::memory_order_acq_rel) != 0;
    }

private:
    static constexpr uintptr_t kLine = 64;

    static uintptr_t address(const void *memory) { return reinterpret_cast<uintptr_t>(memory); }
    static Link *edge_at(Link link) { return reinterpret_cast<Link *>(link & ~kFlags); }
    static GraphNode *node_of(Link link) {
        const uintptr_t line = link & ~(kLine - 1);
        return link & kInBlock ? reinterpret_cast<EdgeBlock *>(line)->node : reinterpret_cast<GraphNode *>(line);
    }

    // Returns the link of an unused edge of this node.
    template <typename NewBlock>
    Link next_edge(NewBlock &&new_block) {
        if (n_edges < kOwnEdges) return address(&edges[n_edges]);
        const uint32_t place = (n_edges - kOwnEdges) % kBlockEdges;
        if (place == 0) {
            EdgeBlock *block = new_block();
            block->node = this;
            block->next = blocks;
            blocks = block;
        }
        return address(&blocks->edges[place]) | kInBlock;
    }
};

using DependenceNode = GraphNode<std::atomic>;
static_assert(sizeof(DependenceNode) == 64);

} // namespace omp_ext
