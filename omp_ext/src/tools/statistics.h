// SPDX-License-Identifier: Apache-2.0
// Counts of what the scheduler did. Each is written by one thread and read by any; what every task would have to count
// (created, run) is not here but follows from the counts that end barriers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace omp_ext {

// A count with one writer; anybody may read it, and reset what is read.
class Count {
public:
    void add() { n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    uint64_t get() const { return since_reset(n_.load(std::memory_order_relaxed)); }
    void reset() { reset(n_.load(std::memory_order_relaxed)); }

    // For a count that is kept elsewhere.
    uint64_t since_reset(uint64_t n) const { return n - base_.load(std::memory_order_relaxed); }
    void reset(uint64_t n) { base_.store(n, std::memory_order_relaxed); }

private:
    std::atomic<uint64_t> n_{0};
    std::atomic<uint64_t> base_{0};
};

struct WorkerStatistics {
    Count created, done; // Worker::n_created and n_done since the reset
    Count n_sent; // put into an inbox of another domain than that of this thread
    Count n_stolen_inside; // run here, taken from a thread of the domain
    Count n_stolen_outside; // run here, taken from another domain
    Count n_rescued; // run here because the program would have hung
    Count n_steal_attempts;
    Count n_lost_races; // attempts that met a task and lost it to another thread
    Count n_sleeps;
    Count n_suspended; // waits that left their stack
    Count n_unsuspended; // waits that had to stay, for want of a stack
    std::unique_ptr<Count[]> n_sent_to; // by domain
    std::unique_ptr<Count[]> n_run_from; // by domain in which it was placed, other than that of this thread
};

// Prints the statistics of the process on stderr.
void print_statistics();

} // namespace omp_ext
