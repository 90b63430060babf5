// SPDX-License-Identifier: Apache-2.0
// Threads without a task spin briefly, then sleep, and are woken. Owns Worker::asleep and the counts of sleeping and
// searching workers.
//
// A thread announces its sleep, and then checks once more that its wait is not over. It can still miss the wake-up for
// a task that another thread queues at that moment, because preventing this would cost every creation a fence. So each
// sleep lasts at most kLongestSleepNs.
#pragma once

#include <cstdint>

#include "scheduler/team.h"

namespace omp_ext {

int64_t now_ns();

// One wait of one thread.
class Idle {
public:
    explicit Idle(Worker &worker) : worker_(worker) {}
    ~Idle() { found(); }
    Idle(const Idle &) = delete;
    Idle &operator=(const Idle &) = delete;

    // Ends the search: a task was found.
    void found();

    // Pauses after a search without result. When it is time to sleep, announces the sleep and sleeps if may_sleep().
    template <typename MaySleep>
    void nothing_found(MaySleep &&may_sleep) {
        if (!spin_on()) return;
        announce();
        if (may_sleep())
            sleep();
        else
            retract();
    }

    // True in the first searches of a wait and after a sleep; false in the last search before a sleep. Where threads
    // share processors, the owner of a deque gets more time.
    bool is_fresh() const { return n_rounds_ < (worker_.team->n_surplus > 0 ? kPauses : kFreshRounds); }

    // Time of the first search without result, or 0 after a task was found.
    int64_t since_ns() const { return since_ns_; }

private:
    bool spin_on(); // returns true if it is time to sleep
    void announce();
    void retract();
    void sleep();

    Worker &worker_;
    int64_t since_ns_ = 0;
    unsigned n_rounds_ = 0;
    int64_t sleep_ns_ = kFirstSleepNs;

    static constexpr unsigned kFreshRounds = 2; // searches that count as the first ones
    static constexpr unsigned kPauses = 8; // short pauses before yielding the processor
    static constexpr int64_t kFirstSleepNs = 1'000'000;
    static constexpr int64_t kLongestSleepNs = 32'000'000;
};

// Wakes the worker, or all workers, if asleep.
void wake(Worker &worker);
void wake_all(Team &team);

// Wakes a sleeping worker for a task queued in the domain, unless the awake workers suffice.
void wake_for_task(Team &team, int domain);

// True if all threads in the team's barrier sleep, so only the creators of tasks run them.
inline bool has_no_helper(const Team &team) {
    const uint64_t n_released = team.n_released.load(std::memory_order_relaxed);
    const uint64_t n_arrived = team.n_arrived.load(std::memory_order_relaxed);
    return n_arrived - n_released * static_cast<uint64_t>(team.n_workers) <=
           static_cast<uint64_t>(team.n_asleep.load(std::memory_order_relaxed));
}

// Wakes a worker for a task in the deque of an awake thread, unless a worker is already searching. If no processor is
// free, wakes a worker only if no other worker can help.
inline void signal_deque_task(Team &team, int domain) {
    const int n_asleep = team.n_asleep.load(std::memory_order_relaxed);
    if (__builtin_expect(n_asleep > 0, 0) && team.n_searching.load(std::memory_order_relaxed) == 0 &&
        (n_asleep > team.n_surplus || has_no_helper(team)))
        wake_for_task(team, domain);
}

// Wakes a worker for a task in the inbox of that domain.
inline void signal_inbox_task(Team &team, int domain) {
    if (__builtin_expect(team.n_asleep.load(std::memory_order_relaxed) > 0, 0)) wake_for_task(team, domain);
}

// Puts a task into the inbox of its domain, where its parent finds it too, and wakes a worker for it.
inline void enqueue(Team &team, Task &task, bool at_front) {
    team.domain_queues[task.domain].inbox.put(&task, &task.parent->queued_children, at_front);
    signal_inbox_task(team, task.domain);
}

// Lets threads that search for tasks use the caller's processor, until one takes a task from the caller's deque, for at
// most 20 us. While no thread searches, the limit is 0 if a thread in the barrier is awake. If all of them sleep, it is
// 1 us once all threads have begun the region.
void lend_processor(Worker &worker);

} // namespace omp_ext
