// SPDX-License-Identifier: Apache-2.0
// The queues of ready tasks, and the rules by which threads take tasks. The policy selects one queue per thread, one
// per domain, or one per thread and an inbox per domain. If the policy has priorities, all threads share one queue per
// priority.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies.h"
#include "queues.h"
#include "tasks_in_flight.h"
#include "threads.h"

namespace ompass::simulation {

class ReadyTasks {
public:
    // untied: true if all tasks are untied, or the policy runs them as if they were. lock_ns: time for which an
    // operation locks a shared queue.
    ReadyTasks(const TaskProgram &program, const Policy &policy, TasksInFlight &tasks, Threads &threads,
               uint32_t n_domains, bool untied, uint64_t lock_ns)
        : policy_(policy), tasks_(tasks), n_threads_(threads.size()), n_domains_(n_domains), untied_(untied),
          no_dependences_(program.dependences.empty()), lock_ns_(lock_ns) {
        const uint32_t n_own = policy.queues == Queues::kPerDomain ? n_domains : n_threads_;
        const bool placed = policy.queues == Queues::kPlaced;
        first_urgent_ = n_own + (placed ? n_domains : 0);
        queues_.resize(first_urgent_ + (policy.priorities ? number_priorities(program) : 0));
        if (placed) {
            for (uint32_t i = 0; i < n_own; i++) queues_[i].set = threads[i].domain;
            for (uint32_t i = 0; i < n_domains; i++) queues_[n_own + i].set = i;
        }
        holding_.assign(placed ? n_domains : 1, NumberSet(size()));
    }

    uint32_t size() const { return static_cast<uint32_t>(queues_.size()); }
    uint32_t n_tasks(uint32_t queue) const { return queues_[queue].tasks.size(); }
    // Records that a thief is on its way to a queue.
    void add_thief(uint32_t queue, uint64_t arrival) {
        n_thieves_++;
        queues_[queue].n_thieves++;
        queues_[queue].last_arrival = arrival;
    }
    // Records that the thief has arrived.
    void remove_thief(uint32_t queue) {
        n_thieves_--;
        queues_[queue].n_thieves--;
    }
    uint32_t n_thieves() const { return n_thieves_; }
    bool is_too_late(uint32_t queue, uint64_t arrival) const {
        return queues_[queue].n_thieves >= n_tasks(queue) && arrival >= queues_[queue].last_arrival;
    }
    uint32_t oldest(uint32_t queue) const { return queues_[queue].tasks[0]; }
    uint32_t set_of(uint32_t queue) const { return queues_[queue].set; }
    bool is_urgent(uint32_t queue) const { return queue >= first_urgent_; }
    bool is_shared(uint32_t queue) const { return policy_.queues == Queues::kPerDomain || queue >= n_threads_; }
    bool any() const { return n_holding_ != 0; }
    // Returns the queues that hold tasks; with placement, only the queues of domain `set`.
    const NumberSet &holding(uint32_t set) const { return holding_[set]; }
    uint32_t n_sets() const { return static_cast<uint32_t>(holding_.size()); }

    uint32_t queue_for(const Thread &thread, const ProgramTask &task) const {
        if (task.priority && size() > first_urgent_) return queue_of_priority_[task.priority];
        if (policy_.queues == Queues::kPerDomain) return thread.domain;
        if (policy_.queues == Queues::kPlaced && task.home >= 0) {
            const uint32_t home = static_cast<uint32_t>(task.home) % n_domains_;
            if (home != thread.domain) return n_threads_ + home;
        }
        return thread.number;
    }

    void push(Thread &thread, uint32_t number, uint32_t place) {
        Queue &queue = queues_[number];
        if (is_shared(number)) use_lock(thread, number);
        if (queue.tasks.size() == 0) {
            holding_[queue.set].add(number);
            n_holding_++;
        }
        n_urgent_ += is_urgent(number);
        queue.tasks.push(place);
    }
    uint32_t take(uint32_t number, uint32_t i) {
        Queue &queue = queues_[number];
        const uint32_t place = queue.tasks.take(i);
        n_urgent_ -= is_urgent(number);
        if (queue.tasks.size() == 0) {
            holding_[queue.set].remove(number);
            n_holding_--;
        }
        return place;
    }
    void use_lock(Thread &thread, uint32_t number) {
        Queue &queue = queues_[number];
        if (queue.free_at > thread.now) thread.spend(State::kSync, queue.free_at - thread.now);
        queue.free_at = thread.now + lock_ns_;
    }

    // True if the thread may run the task: on top of a waiting task, only its descendants and untied tasks.
    bool may_run(const Thread &thread, uint32_t place) const {
        if (thread.current == kNone) return true;
        const LiveTask &task = tasks_[place];
        return task.untied || untied_ || tasks_.is_descendant(task, thread.current);
    }
    bool is_bound(const LiveTask &task) const { return !task.untied && !untied_; }
    // Returns how many of n tasks, queues or threads a search examines. In a program without dependences, a queue holds
    // only descendants of its owner's task, so the tasks near its ends show whether a thread may run any of them.
    uint32_t search_limit(uint32_t n) const { return no_dependences_ ? std::min(n, kSearchLimit) : n; }
    // Returns the index, in the queue, of a task that the thread may run; kNoQueue: none.
    uint32_t find_allowed(const Thread &thread, uint32_t number, bool newest) const {
        const TaskQueue &tasks = queues_[number].tasks;
        const uint32_t n = tasks.size(), limit = search_limit(n);
        for (uint32_t k = 0; k < limit; k++) {
            const uint32_t i = newest ? n - 1 - k : k;
            if (may_run(thread, tasks[i])) return i;
        }
        return kNoQueue;
    }

    // True if the thread may run a task of the queue, which must hold tasks.
    bool may_take_from(const Thread &thread, uint32_t number) const {
        return thread.current == kNone || find_allowed(thread, number, false) != kNoQueue;
    }

    uint32_t take_own(Thread &thread) {
        for (uint32_t queue = first_urgent_; n_urgent_ && queue < size(); queue++)
            if (const uint32_t urgent = take_from(thread, queue, false)) return urgent;
        if (policy_.queues == Queues::kPerDomain) return take_from(thread, thread.domain, true);
        // The set remains in the host's cache, so it is checked before the queue.
        if (holding_[queues_of(thread)].contains(thread.number))
            if (const uint32_t own = take_from(thread, thread.number, true)) return own;
        if (policy_.queues != Queues::kPlaced) return kNone;
        return take_from(thread, n_threads_ + thread.domain, false);
    }
    uint32_t take_stolen(const Thread &thread, uint32_t number) {
        if (queues_[number].tasks.size() == 0) return kNone;
        const uint32_t i = find_allowed(thread, number, false);
        return i == kNoQueue ? kNone : take(number, i);
    }

private:
    uint32_t queues_of(const Thread &thread) const { return holding_.size() > 1 ? thread.domain : 0; }

    static constexpr uint32_t kSearchLimit = 8;

    // Numbers the queues of the program's priorities, the highest first. Returns the number of queues.
    uint32_t number_priorities(const TaskProgram &program) {
        std::vector<bool> is_used(ProgramTask::kMostPriority + 1);
        for (const ProgramTask &task : program.tasks) is_used[task.priority] = true;
        queue_of_priority_.assign(is_used.size(), kNoQueue);
        uint32_t next = first_urgent_;
        for (size_t priority = ProgramTask::kMostPriority; priority > 0; priority--)
            if (is_used[priority]) queue_of_priority_[priority] = next++;
        return next - first_urgent_;
    }

    struct alignas(64) Queue {
        TaskQueue tasks;
        uint32_t set = 0; // index in holding_
        uint32_t n_thieves = 0;
        uint64_t last_arrival = 0;
        uint64_t free_at = 0; // time at which the lock of a shared queue becomes free
    };

    uint32_t take_from(Thread &thread, uint32_t number, bool newest) {
        if (queues_[number].tasks.size() == 0) return kNone;
        const uint32_t i = find_allowed(thread, number, newest);
        if (i == kNoQueue) return kNone;
        if (is_shared(number)) use_lock(thread, number);
        return take(number, i);
    }

    const Policy &policy_;
    const TasksInFlight &tasks_;
    const uint32_t n_threads_, n_domains_;
    const bool untied_, no_dependences_;
    const uint64_t lock_ns_;
    // The queues of threads or domains, then the inboxes of domains, then the queues of priorities.
    std::vector<Queue> queues_;
    uint32_t first_urgent_ = 0; // the queue of the highest priority
    std::vector<uint32_t> queue_of_priority_;
    uint32_t n_urgent_ = 0; // tasks in queues of priorities
    std::vector<NumberSet> holding_;
    uint32_t n_holding_ = 0, n_thieves_ = 0;
};

} // namespace ompass::simulation
