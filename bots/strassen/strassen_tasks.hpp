// SPDX-License-Identifier: Apache-2.0
// Strassen's algorithm with a task for each of the seven products of a step, and the workspaces of concurrent steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "aligned_array.hpp"
#include "strassen.hpp"
#include "tasks.hpp"

namespace bots {

// A pool of unused workspaces of one size.
class WorkspacePool {
public:
    explicit WorkspacePool(std::size_t n_elements) : n_elements_(n_elements) {}

    std::size_t n_elements() const { return n_elements_; }

    // Makes a new workspace, which the caller touches and gives back. Returns no array if the pool has already made
    // `enough` workspaces.
    AlignedArray make(std::size_t enough) {
        const std::lock_guard lock(mutex_);
        return n_made_ < enough ? make_another() : AlignedArray();
    }

    // Takes a free workspace, or makes a new one. Returns no array if memory is exhausted.
    AlignedArray take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            try {
                return make_another();
            } catch (const std::bad_alloc &) {
                return {};
            }
        }
        AlignedArray workspace = std::move(free_.back());
        free_.pop_back();
        return workspace;
    }

    void give_back(AlignedArray workspace) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(workspace));
    }

private:
    AlignedArray make_another() {
        AlignedArray workspace(n_elements_);
        free_.reserve(n_made_ + 1); // so that giving it back allocates nothing
        n_made_++;
        return workspace;
    }

    std::size_t n_elements_;
    std::mutex mutex_;
    std::size_t n_made_ = 0; // workspaces made, free or in use
    std::vector<AlignedArray> free_;
};

// Places neither products nor memory. DomainPlacement in strassen_domains.hpp places both.
struct NoPlacement {
    static constexpr std::size_t n_places() { return 1; }
    static constexpr std::size_t place() { return 0; } // the place of the calling task
    static void place_matrix(double *, std::size_t) {}
    static void place_first_workspace(double *, std::size_t) {}
    static void place_product(std::size_t, std::size_t) {}
};

// The workspaces for all sizes of matrices, by place. The first step has only one workspace, which may lie in several
// places.
template <class Placement>
class Workspaces {
public:
    explicit Workspaces(std::size_t n_rows) : n_rows_(n_rows) {
        for (std::size_t rows = n_rows; rows > kLeafRows; rows /= 2) {
            const std::size_t n_pools = rows == n_rows ? 1 : Placement::n_places();
            of_step_.emplace_back();
            of_subtree_.emplace_back();
            for (std::size_t i = 0; i < n_pools; i++) {
                of_step_.back().push_back(
                    std::make_unique<WorkspacePool>(StrassenStep::kTemporaries * rows * rows / 4));
                of_subtree_.back().push_back(std::make_unique<WorkspacePool>(serial_workspace(rows)));
            }
        }
    }

    // Makes and touches the workspaces of a run whose products of up to `serial_rows` rows create no tasks. Each thread
    // makes one workspace per level, in the place where it runs; a level gets no more than it has products. A thread
    // that waits in a tied task only runs descendants of that task, so one workspace per level is enough. Untied tasks,
    // and tasks that run in another place than their own, may need more; take() makes them.
    void prefill(std::size_t serial_rows, int n_threads) {
        std::atomic<bool> is_out_of_memory = false;
#pragma omp parallel num_threads(n_threads)
        {
            try {
                prefill_for_thread(serial_rows);
            } catch (const std::bad_alloc &) {
                is_out_of_memory = true;
            }
        }
        if (is_out_of_memory) throw std::bad_alloc();
    }

    // Returns the pool of a level and place. `level`: number of divisions of the matrices.
    WorkspacePool &of_step(std::size_t level, std::size_t place) { return pool_at(of_step_[level], place); }
    WorkspacePool &of_subtree(std::size_t level, std::size_t place) { return pool_at(of_subtree_[level], place); }

private:
    using Pools = std::vector<std::unique_ptr<WorkspacePool>>; // by place

    static WorkspacePool &pool_at(const Pools &pools, std::size_t place) { return *pools[place % pools.size()]; }

    // Makes the calling thread's workspaces, down one path of the recursion.
    void prefill_for_thread(std::size_t serial_rows) {
        const std::size_t place = Placement::place();
        std::size_t n_products = 1; // products on the level
        for (std::size_t level = 0; level < of_step_.size(); level++) {
            const bool is_serial = n_rows_ >> level <= serial_rows;
            WorkspacePool &pool = is_serial ? of_subtree(level, place) : of_step(level, place);
            const std::size_t n_pools = of_step_[level].size();
            AlignedArray workspace = pool.make((n_products + n_pools - 1) / n_pools);
            if (workspace.data() != nullptr) {
                if (level == 0 && !is_serial)
                    Placement::place_first_workspace(workspace.data(), pool.n_elements() / StrassenStep::kTemporaries);
                std::fill_n(workspace.data(), pool.n_elements(), 0.0);
                pool.give_back(std::move(workspace));
            }
            if (is_serial) break;
            n_products *= kProducts;
        }
    }

    std::size_t n_rows_;
    std::vector<Pools> of_step_, of_subtree_; // by level
};

template <TaskKind kKind, class Placement = NoPlacement>
class StrassenTasks {
public:
    // Matrices of up to `grain` rows are below the cut-off.
    StrassenTasks(Workspaces<Placement> &workspaces, std::size_t grain) : workspaces_(workspaces), grain_(grain) {}

    // Computes c = a * b. Throws std::bad_alloc if memory is exhausted.
    void multiply_parallel(const double *a, const double *b, double *c, std::size_t n_rows, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        multiply(a, b, c, n_rows, 0, 0);
        if (is_out_of_memory_) throw std::bad_alloc(); // no exception may leave a parallel region
    }

private:
    // `level`: number of divisions of the matrices. `index`: index of the product among the level's 7^level products.
    void multiply(const double *a, const double *b, double *c, std::size_t n_rows, std::size_t level,
                  std::size_t index) {
        if (n_rows <= kLeafRows) return multiply_leaves(a, b, c);
        const bool below = n_rows <= grain_;
        const std::size_t place = Placement::place(); // read once: an untied task may resume elsewhere
        if (goes_serial<kKind>(below)) {
            WorkspacePool &pool = workspaces_.of_subtree(level, place);
            AlignedArray workspace = take_from(pool);
            if (workspace.data() == nullptr) return;
            multiply_serial(a, b, c, n_rows, workspace.data());
            pool.give_back(std::move(workspace));
            return;
        }
        WorkspacePool &pool = workspaces_.of_step(level, place);
        AlignedArray workspace = take_from(pool);
        if (workspace.data() == nullptr) return;
        const std::size_t n = n_rows / 2 * (n_rows / 2);
        const StrassenStep step(a, b, c, workspace.data(), n);
        step.sum_operands();
        for (std::size_t i = 0; i < kProducts; i++) {
            const StrassenStep::Product product = step.product(i);
            const std::size_t child = index * kProducts + i;
            Placement::place_product(level, child);
            BOTS_TASK(kKind, below, firstprivate(product, n_rows, level, child),
                      multiply(product.a, product.b, product.c, n_rows / 2, level + 1, child));
        }
#pragma omp taskwait
        step.sum_products();
        pool.give_back(std::move(workspace));
    }

    AlignedArray take_from(WorkspacePool &pool) {
        AlignedArray workspace = pool.take();
        if (workspace.data() == nullptr) is_out_of_memory_ = true;
        return workspace;
    }

    Workspaces<Placement> &workspaces_;
    std::size_t grain_;
    std::atomic<bool> is_out_of_memory_ = false; // if set, the result is invalid
};

// Returns the number of tasks that multiply_parallel creates for matrices of n_rows rows, if matrices of up to `grain`
// rows create none.
constexpr std::uint64_t count_strassen_tasks(std::size_t n_rows, std::size_t grain) {
    if (n_rows <= kLeafRows || n_rows <= grain) return 0;
    return kProducts + kProducts * count_strassen_tasks(n_rows / 2, grain);
}

} // namespace bots
