// SPDX-License-Identifier: Apache-2.0
// Counts of the scheduler's actions. One thread writes each count; any thread reads it. Worker has the counts of
// created and completed tasks, which decide when a barrier ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace omp_ext {

// A count with one writer. Any thread may read or reset it.
class Count {
public:
    void add() { n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    uint64_t get() const { return since_reset(n_.load(std::memory_order_relaxed)); }
    void reset() { reset(n_.load(std::memory_order_relaxed)); }

    // The same for a count `n` that another object keeps.
    uint64_t since_reset(uint64_t n) const { return n - base_.load(std::memory_order_relaxed); }
    void reset(uint64_t n) { base_.store(n, std::memory_order_relaxed); }

private:
    std::atomic<uint64_t> n_{0};
    std::atomic<uint64_t> base_{0};
};

struct WorkerStatistics {
    Count created, done; // hold only the values of Worker::n_created and n_done at the last reset
    Count n_sent; // put into the inbox of another domain
    Count n_stolen_inside; // run here, taken from a thread of the domain
    Count n_stolen_outside; // run here, taken from another domain
    Count n_rescued; // run here because the program would have hung
    Count n_steal_attempts;
    Count n_lost_races; // attempts that found a task and lost it to another thread
    Count n_sleeps;
    Count n_suspended; // waits of tasks that were suspended
    Count n_unsuspended; // waits of tasks that were not suspended because no stack was left
    std::unique_ptr<Count[]> n_sent_to; // by domain
    std::unique_ptr<Count[]> n_run_from; // tasks run here but placed in another domain; by that domain
};

// Prints the statistics of the process on stderr.
void print_statistics();

} // namespace omp_ext
