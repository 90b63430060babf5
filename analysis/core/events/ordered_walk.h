// SPDX-License-Identifier: Apache-2.0
// Walks all threads of a trace in order of time. The clocks of two CPUs may differ a little. Therefore the walk holds
// an event back until it has applied the event of another thread that must come first, such as the creation of a
// task that starts, or the completion of the tasks that a wait awaited.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "walker.h"

namespace ompass {

// The observer also has these functions:
//   bool is_met(Walk &, Precondition)    true if the precondition holds
//   void out_of_order()                  called before an event whose precondition does not hold is applied
//   void ends_at(uint64_t)               called after all events, with the time at which the run ends
template <typename Observer>
class OrderedWalk {
public:
    OrderedWalk(const RunFiles &run, Observer &observer) : run_(run), observer_(observer) {
        for (uint32_t i = 0; i < run.threads.size(); i++)
            if (run.threads[i].header) walks_.emplace_back(run, i, observer);
    }

    Problem run() {
        for (Walk &walk : walks_) {
            enqueue(walk);
            if (Problem problem = walk.problem()) return problem;
        }
        while (!queue_.empty()) {
            Walk &walk = *queue_.top().walk;
            queue_.pop();
            uint64_t limit = earliest();
            bool more = true;
            while (more && walk.now() <= limit && is_met(walk)) {
                more = walk.apply() && walk.advance();
                if (held_.empty()) continue;
                release_held();
                limit = earliest();
            }
            if (Problem problem = walk.problem()) return problem;
            if (more && walk.now() <= limit)
                held_.push_back(&walk);
            else if (more)
                queue_.push({walk.now(), &walk});
            while (queue_.empty() && !held_.empty())
                if (Problem problem = force_one()) return problem;
        }
        uint64_t end = run_.process->end_ticks;
        for (const Walk &walk : walks_) end = std::max(end, walk.decoder().time());
        observer_.ends_at(end);
        for (Walk &walk : walks_) walk.finish();
        return {};
    }

private:
    using Walk = ThreadWalk<Observer>;
    struct Next {
        uint64_t time;
        Walk *walk;
        bool operator>(const Next &other) const {
            return time != other.time ? time > other.time : walk->thread() > other.walk->thread();
        }
    };

    uint64_t earliest() const { return queue_.empty() ? ~0ull : queue_.top().time; }

    bool is_met(Walk &walk) {
        const Precondition needed = walk.precondition();
        return needed.kind == Precondition::kNone || observer_.is_met(walk, needed);
    }

    void enqueue(Walk &walk) {
        if (walk.advance()) queue_.push({walk.now(), &walk});
    }

    // Queues the held walks whose precondition now holds.
    void release_held() {
        std::erase_if(held_, [&](Walk *walk) {
            if (!is_met(*walk)) return false;
            queue_.push({walk->now(), walk});
            return true;
        });
    }

    // Applies the earliest held event. The log lacks the event that must precede it, because of a pause or a limit.
    Problem force_one() {
        const auto first = std::ranges::min_element(held_, {}, &Walk::now);
        Walk &walk = **first;
        held_.erase(first);
        observer_.out_of_order();
        if (walk.apply()) enqueue(walk);
        if (Problem problem = walk.problem()) return problem;
        release_held();
        return {};
    }

    const RunFiles &run_;
    Observer &observer_;
    std::deque<Walk> walks_;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue_;
    std::vector<Walk *> held_; // walks at an event whose precondition does not hold yet
};

} // namespace ompass
