// SPDX-License-Identifier: Apache-2.0
// Keeps for each live task the longest chain that leads to the task, while this chain may still become part of the
// critical path. Owns the memory and references of chains; task_graph.cpp extends the chains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "critical_path.h"
#include "events/trace_index.h"

namespace ompass {

// A moment in the graph, with the length of the longest chain that ends at it. Owns a reference to the last step of
// that chain.
struct Point {
    uint64_t span = 0;
    uint64_t burdened = 0; // length of the longest chain with overheads, which may be another chain
    uint32_t step = 0;
};

struct Barrier {
    Point latest; // latest arrival of a thread; once closed, also the latest end of a task
    uint32_t n_arrived = 0;
    bool closed = false;
};

struct GraphRegion {
    uint64_t id = 0;
    uint32_t group = 0, team_size = 0;
    uint32_t n_inside = 0; // implicit tasks that have begun and not ended
    uint64_t n_unfinished = 0; // unfinished deferred tasks
    uint32_t n_closed = 0; // closed barriers
    bool ended = false;
    Point begin;
    Point latest; // latest end of a task in the region
    std::vector<Barrier> barriers;
    RecordedRegion recorded; // as known so far
};

// An incomplete task, or a task with incomplete descendants.
struct Chain {
    uint64_t id = 0, parent_id = 0;
    uint32_t construct = 0, group = 0, thread = 0;
    uint32_t parent = 0; // the nearest ancestor whose chain is kept; 0: none
    uint32_t refs = 1; // one until the task completes, and one per child
    uint32_t n_children = 0; // direct children that have not completed
    bool complete = false, orphan = false, detached = false;
    GraphRegion *region = nullptr; // null: outside of every region
    Point now = {};
    Point children = {}; // latest end of the direct children that have completed
    Point descendants = {}; // latest end of all descendants that have completed
    uint64_t created = 0, created_latest = 0, started = 0, worked = 0;
};

class Chains {
public:
    explicit Chains(const RunFiles &run) : of_task_(run) {
        chains_.emplace_back(); // number 0: no chain
    }

    Chain &operator[](uint32_t chain) { return chains_[chain]; }
    StepPool &steps() { return steps_; }

    Point copy(const Point &point) { return {point.span, point.burdened, steps_.share(point.step)}; }
    void drop(Point &point) {
        steps_.release(point.step);
        point = {};
    }
    void raise(Point &point, const Point &other) {
        point.burdened = std::max(point.burdened, other.burdened);
        if (other.span <= point.span) return;
        steps_.share(other.step);
        steps_.release(point.step);
        point.span = other.span;
        point.step = other.step;
    }

    uint32_t make(uint64_t id, uint32_t construct, uint32_t group, GraphRegion *region) {
        if (free_.empty()) {
            free_.push_back(static_cast<uint32_t>(chains_.size()));
            chains_.emplace_back();
        }
        const uint32_t chain = free_.back();
        free_.pop_back();
        chains_[chain] = {.id = id, .construct = construct, .group = group, .region = region};
        return chain;
    }

    void adopt(uint32_t chain, uint32_t parent) {
        chains_[chain].parent = parent;
        chains_[chain].parent_id = chains_[parent].id;
        chains_[parent].refs++;
        chains_[parent].n_children++;
    }

    // Drops one reference: the task's own when the task completes, or a child's.
    void release(uint32_t chain) {
        OMPASS_ASSERT(!chain || chains_[chain].refs > 0);
        while (chain && --chains_[chain].refs == 0) {
            Chain &freed = chains_[chain];
            drop(freed.now);
            drop(freed.children);
            drop(freed.descendants);
            if (freed.id) of_task_.set(freed.id, 0);
            const uint32_t parent = freed.parent;
            free_.push_back(chain);
            chain = parent;
        }
    }

    // Returns the chain of a task, or 0 if it has none (any more).
    uint32_t find(uint64_t id) const { return of_task_[id]; }
    void remember(uint64_t id, uint32_t chain) { of_task_.set(id, chain); }

private:
    StepPool steps_;
    std::deque<Chain> chains_;
    std::vector<uint32_t> free_;
    ById<uint32_t> of_task_;
};

} // namespace ompass
