// SPDX-License-Identifier: Apache-2.0
// The knapsack search with a task for each of the two branches. All threads share the best value so far. The number of
// pruned branches, and so of tasks, differs from run to run. Every thread therefore counts its own tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "knapsack.hpp"
#include "tasks.hpp"

namespace bots {

// The best value so far. Any thread writes it, rarely; every step reads it. An old value only prunes less.
class alignas(64) SharedBest {
public:
    explicit SharedBest(std::int64_t value) : value_(value) {}

    std::int64_t load() const { return value_.load(std::memory_order_relaxed); }
    void raise_to(std::int64_t higher) {
        std::int64_t value = load();
        while (value < higher && !value_.compare_exchange_weak(value, higher, std::memory_order_relaxed)) {}
    }

private:
    std::atomic<std::int64_t> value_;
};

struct KnapsackCounts {
    std::uint64_t n_nodes = 0; // packings visited
    std::uint64_t n_tasks = 0; // tasks created
};

struct KnapsackResult {
    std::int64_t value;
    KnapsackCounts counts;
};

template <TaskKind kKind>
class KnapsackTasks {
public:
    KnapsackTasks(std::int64_t first_value, int n_threads)
        : best_(first_value), of_thread_(static_cast<std::size_t>(n_threads)) {}

    // `levels`: items, from the next one on, that are above the cut-off.
    KnapsackResult search(const Packing &empty, int levels) {
        const auto n_threads = static_cast<int>(of_thread_.size());
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        pack(empty, levels);
        KnapsackResult result = {best_.load(), {}};
        for (const ThreadCounts &part : of_thread_) {
            result.counts.n_nodes += part.counts.n_nodes;
            result.counts.n_tasks += part.counts.n_tasks;
        }
        return result;
    }

private:
    struct alignas(64) ThreadCounts { // the counts of one thread, on a separate cache line
        KnapsackCounts counts;
    };

    void pack(const Packing &packing, int levels) {
        KnapsackCounts &counts = of_thread_[static_cast<std::size_t>(omp_get_thread_num())].counts;
        if (goes_serial<kKind>(levels <= 0)) {
            std::uint64_t n_nodes = 0;
            pack_serial(packing, best_, n_nodes);
            counts.n_nodes += n_nodes;
            return;
        }
        counts.n_nodes++;
        if (packing.value > best_.load()) best_.raise_to(packing.value);
        if (!packing.may_beat(best_.load())) return;
        const bool fits = packing.next->weight <= packing.capacity;
        counts.n_tasks +=
            fits ? 2 : 1; // counted before the creation, after which an untied task may be on another thread
        if (fits) BOTS_TASK(kKind, levels <= 0, shared(packing) firstprivate(levels), pack(packing.with(), levels - 1));
        BOTS_TASK(kKind, levels <= 0, shared(packing) firstprivate(levels), pack(packing.without(), levels - 1));
#pragma omp taskwait
    }

    SharedBest best_;
    std::vector<ThreadCounts> of_thread_;
};

} // namespace bots
