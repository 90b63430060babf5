// SPDX-License-Identifier: Apache-2.0
// The chains of a task graph: for every live task the longest chain that leads to it, as far as it may still become part
// of the critical path. Owns their memory and who still needs them; what extends them is the events' matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "critical_path.h"
#include "events/trace_index.h"

namespace ompass {

// A moment in the graph: how long the longest chain to it is. Owns a reference to the chain's last step.
struct Point {
    uint64_t span = 0;
    uint64_t burdened = 0; // its own maximum: another chain's, perhaps
    uint32_t step = 0;
};

struct Barrier {
    Point latest; // of the members that have arrived, and of all tasks once it is closed
    uint32_t n_arrived = 0;
    bool closed = false;
};

struct GraphRegion {
    uint64_t id = 0;
    uint32_t group = 0, team_size = 0;
    uint32_t n_inside = 0; // members between their begin and their end
    uint64_t n_unfinished = 0; // deferred tasks
    uint32_t n_closed = 0; // barriers
    bool ended = false;
    Point begin;
    Point latest; // of everything that has ended in it
    std::vector<Barrier> barriers;
    RecordedRegion recorded; // as far as it is known by now
};

// A task that is under way, or whose children are.
struct Chain {
    uint64_t id = 0, parent_id = 0;
    uint32_t construct = 0, group = 0, thread = 0;
    uint32_t parent = 0; // the nearest ancestor whose chain is kept; 0: none
    uint32_t refs = 1; // its own, until it completes, and its children's
    uint32_t n_children = 0; // direct, not completed
    bool complete = false, orphan = false, detached = false;
    GraphRegion *region = nullptr; // null: outside of every region
    Point now = {};
    Point children = {}; // latest of the direct children that have completed
    Point descendants = {}; // latest of all descendants that have completed
    uint64_t created = 0, created_latest = 0, started = 0, worked = 0;
};

class Chains {
public:
    explicit Chains(size_t n_threads) : of_task_(n_threads) {
        chains_.emplace_back(); // 0 stands for none
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

    // One of its users is gone: the task itself, or a child.
    void release(uint32_t chain) {
        OMPASS_ASSERT(!chain || chains_[chain].refs > 0);
        while (chain && --chains_[chain].refs == 0) {
            Chain &gone = chains_[chain];
            drop(gone.now);
            drop(gone.children);
            drop(gone.descendants);
            if (gone.id) of_task_.set(gone.id, 0);
            const uint32_t parent = gone.parent;
            free_.push_back(chain);
            chain = parent;
        }
    }

    // The chain of a task; 0 when there is none (any more).
    uint32_t find(uint64_t id) const { return of_task_[id]; }
    void remember(uint64_t id, uint32_t chain) { of_task_.set(id, chain); }

private:
    StepPool steps_;
    std::deque<Chain> chains_;
    std::vector<uint32_t> free_;
    ById<uint32_t> of_task_;
};

} // namespace ompass
