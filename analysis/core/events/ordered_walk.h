// SPDX-License-Identifier: Apache-2.0
// All threads of a trace in order of time. An event that depends on another thread's (a start on its creation, the end of
// a wait on what it waited for) is held back until that has been seen, so that clocks of two CPUs may differ a little.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "walker.h"

namespace ompass {

// The observer says what it has seen, by
//   bool is_met(Walk &, Precondition)    has it happened?
//   void out_of_order()                  an event is taken although its precondition is not met
//   void ends_at(uint64_t)               all events are read, and the run ends at this time: what is open is closed next
template <typename Observer>
class OrderedWalk {
public:
    OrderedWalk(const RunFiles &run, Observer &observer) : run_(run), observer_(observer) {
        for (uint32_t i = 0; i < run.threads.size(); i++)
            if (run.threads[i].header) walks_.emplace_back(run, i, observer);
    }

    Problem run() {
        for (Walk &walk : walks_) enqueue(walk);
        while (!queue_.empty()) {
            Walk &walk = *queue_.top().walk;
            queue_.pop();
            const uint64_t limit = queue_.empty() ? ~0ull : queue_.top().time;
            bool more = true;
            while (more && walk.now() <= limit && is_met(walk)) {
                more = walk.apply() && walk.advance();
                if (!held_.empty()) release_held();
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

    bool is_met(Walk &walk) {
        const Precondition needed = walk.precondition();
        return needed.kind == Precondition::kNone || observer_.is_met(walk, needed);
    }

    void enqueue(Walk &walk) {
        if (walk.advance()) queue_.push({walk.now(), &walk});
    }

    void release_held() { // into the queue again: they look for themselves
        std::erase_if(held_, [&](Walk *walk) {
            if (!is_met(*walk)) return false;
            queue_.push({walk->now(), walk});
            return true;
        });
    }

    // Nobody can go on: the log lacks something (a pause, a limit), so the earliest event is taken as it is.
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
    std::vector<Walk *> held_; // at an event that depends on what has not been seen
};

} // namespace ompass
