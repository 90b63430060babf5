// SPDX-License-Identifier: Apache-2.0
// Threads that find no task: a short spin, then sleep, and who wakes them. Owns Worker::asleep and the counts of
// sleeping and searching workers.
//
// A thread sleeps only after it said so and looked once more, but a wake-up can still be missed: the threads that create
// tasks do not fence for it, because that would cost every task. So each sleep ends by itself after some milliseconds.
#pragma once

#include <cstdint>

#include "scheduler/team.h"

namespace omp_ext {

int64_t now_ns();

// How many threads of this process can run at once.
int n_processors();

// The waiting of one thread in one wait. Made when it begins.
class Idle {
public:
    explicit Idle(Worker &worker) : worker_(worker) {}
    ~Idle() { found(); }
    Idle(const Idle &) = delete;
    Idle &operator=(const Idle &) = delete;

    // A task was found: the next spin is a new one.
    void found();

    // None was found. Pauses, or sleeps unless `may_sleep()` is false when asked after the thread said that it sleeps.
    template <typename MaySleep>
    void nothing_found(MaySleep &&may_sleep) {
        if (!spin_on()) return;
        announce();
        if (may_sleep())
            sleep();
        else
            retract();
    }

    // Did it begin to look a moment ago? Not at its last look before it sleeps.
    bool is_fresh() const { return n_rounds_ < kPauses; }

    // Since when nothing was found, or 0 when something was just now.
    int64_t since_ns() const { return since_ns_; }

private:
    bool spin_on(); // false: go on spinning
    void announce();
    void retract();
    void sleep();

    Worker &worker_;
    int64_t since_ns_ = 0;
    unsigned n_rounds_ = 0;
    int64_t sleep_ns_ = kFirstSleepNs;

    static constexpr unsigned kPauses = 8; // short ones, before it yields its processor
    static constexpr int64_t kFirstSleepNs = 1'000'000;
    static constexpr int64_t kLongestSleepNs = 32'000'000;
};

// Wakes the worker if it sleeps.
void wake(Worker &worker);
void wake_all(Team &team);

// A task came into the domain's reach: wakes a worker for it, if one sleeps and there is a processor for it.
void wake_for_task(Team &team, int domain);

// Do all threads in the team's barrier sleep? Then nobody but those that create tasks runs any.
inline bool has_no_helper(const Team &team) {
    const uint64_t n_released = team.n_released.load(std::memory_order_relaxed);
    const uint64_t n_arrived = team.n_arrived.load(std::memory_order_relaxed);
    return n_arrived - n_released * static_cast<uint64_t>(team.n_workers) <=
           static_cast<uint64_t>(team.n_asleep.load(std::memory_order_relaxed));
}

// The same for a task in the deque of a thread of that domain, which is awake: so no other is woken while one searches,
// or beyond the number of processors, but for the first that helps.
inline void signal_own_task(Team &team, int domain) {
    const int n_asleep = team.n_asleep.load(std::memory_order_relaxed);
    if (__builtin_expect(n_asleep > 0, 0) && team.n_searching.load(std::memory_order_relaxed) == 0 &&
        (n_asleep > team.n_surplus || has_no_helper(team)))
        wake_for_task(team, domain);
}

inline void signal_task(Team &team, int domain) {
    if (__builtin_expect(team.n_asleep.load(std::memory_order_relaxed) > 0, 0)) wake_for_task(team, domain);
}

// For a thread that queues tasks: lends its processor for some microseconds to threads that are still on their way to
// where tasks are run, until one of them took a task.
void lend_processor(Worker &worker);

} // namespace omp_ext
