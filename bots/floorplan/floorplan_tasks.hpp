// SPDX-License-Identifier: Apache-2.0
// The floorplan search with a task for every unpruned place of a cell. All threads share the best plan so far. The
// number of pruned places, and so of tasks, differs from run to run. Every thread therefore counts its own tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "floorplan.hpp"
#include "tasks.hpp"

namespace bots {

// The best complete plan so far. Every step reads its area with relaxed order; an old value only prunes less.
class alignas(64) SharedBestPlan {
public:
    std::int64_t area() const { return area_.load(std::memory_order_relaxed); }
    void offer(const Plan &plan) {
        const std::lock_guard lock(mutex_);
        if (plan.area() >= best_.area()) return;
        best_.offer(plan);
        area_.store(plan.area(), std::memory_order_relaxed);
    }
    const Plan &plan() const { return best_.plan(); } // only when no thread can call offer

private:
    std::atomic<std::int64_t> area_ = INT64_MAX;
    std::mutex mutex_;
    BestPlan best_;
};

struct FloorplanCounts {
    std::uint64_t n_placed = 0; // cells placed
    std::uint64_t n_tasks = 0;  // tasks created
};

template <TaskKind kKind>
class FloorplanTasks {
public:
    FloorplanTasks(const Cells &cells, int n_threads)
        : cells_(cells), of_thread_(static_cast<std::size_t>(n_threads)) {}

    // `levels`: cells, from the first one on, that are above the cut-off.
    FloorplanCounts search(int levels) {
        const auto n_threads = static_cast<int>(of_thread_.size());
        Plan empty;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        complete(empty, levels);
        FloorplanCounts total;
        for (const ThreadCounts &part : of_thread_) {
            total.n_placed += part.counts.n_placed;
            total.n_tasks += part.counts.n_tasks;
        }
        return total;
    }

    const Plan &best() const { return best_.plan(); }

private:
    struct alignas(64) ThreadCounts { // the counts of one thread, on a separate cache line
        FloorplanCounts counts;
    };

    // Returns the counts of the calling thread. Call it again after each scheduling point: an untied task may resume on
    // another thread.
    FloorplanCounts &counts() { return of_thread_[static_cast<std::size_t>(omp_get_thread_num())].counts; }

    void complete(Plan &plan, int levels) {
        if (goes_serial<kKind>(levels <= 0)) {
            std::uint64_t n_placed = 0;
            complete_serial(cells_, plan, best_, n_placed);
            counts().n_placed += n_placed;
            return;
        }
        const auto next = static_cast<std::size_t>(plan.n_placed);
        if (next == cells_.size()) return best_.offer(plan);
        for_each_place(cells_[next], plan, [&](const Place &place) {
            if (plan.area_with(place) >= best_.area() || !plan.is_free(place)) return;
            counts().n_tasks++;
            create_task(&plan, place, levels);
        });
#pragma omp taskwait
    }

    // Creates a task. Not a lambda, because tasks that gcc creates inside a lambda read the lambda object, which no
    // longer exists when they run.
    void create_task(const Plan *plan, Place place, int levels) {
        BOTS_TASK(kKind, levels <= 0, firstprivate(plan, place, levels), complete_with(*plan, place, levels));
    }

    void complete_with(const Plan &plan, const Place &place, int levels) {
        if (plan.area_with(place) >= best_.area()) return; // the best plan improved after the task's creation
        counts().n_placed++;
        Plan longer = plan;
        longer.add(place);
        complete(longer, levels - 1);
    }

    const Cells &cells_;
    SharedBestPlan best_;
    std::vector<ThreadCounts> of_thread_;
};

} // namespace bots
