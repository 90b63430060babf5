// SPDX-License-Identifier: Apache-2.0
//
// Strassen's algorithm with a task for each of the seven products of a step, and the workspaces of the steps that are
// under way at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "aligned_array.hpp"
#include "strassen.hpp"
#include "tasks.hpp"

namespace bots {

// Workspaces of one size that are not in use. There come to be as many as were ever in use at once.
class WorkspacePool {
public:
    explicit WorkspacePool(std::size_t n_elements) : n_elements_(n_elements) {}

    AlignedArray take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return AlignedArray(n_elements_);
        AlignedArray workspace = std::move(free_.back());
        free_.pop_back();
        return workspace;
    }

    void give_back(AlignedArray workspace) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(workspace));
    }

private:
    std::size_t n_elements_;
    std::mutex mutex_;
    std::vector<AlignedArray> free_;
};

// Where the products and the memory are to be: wherever the runtime likes. The other choice is strassen_domains.hpp's.
struct NoPlacement {
    static constexpr std::size_t n_places() { return 1; }
    static constexpr std::size_t place() { return 0; } // of the calling task
    static void place_matrix(double *, std::size_t) {}
    static void place_workspace(std::size_t, double *, std::size_t) {}
    static void place_product(std::size_t, std::size_t) {}
};

// The workspaces for all sizes of matrices, per place where they may lie.
class Workspaces {
public:
    Workspaces(std::size_t n_rows, std::size_t n_places) {
        for (std::size_t rows = n_rows; rows > kLeafRows; rows /= 2) {
            of_step_.emplace_back();
            of_subtree_.emplace_back();
            for (std::size_t i = 0; i < n_places; i++) {
                of_step_.back().push_back(
                    std::make_unique<WorkspacePool>(StrassenStep::kTemporaries * rows * rows / 4));
                of_subtree_.back().push_back(std::make_unique<WorkspacePool>(serial_workspace(rows)));
            }
        }
    }

    // `level`: how often the matrices were divided.
    WorkspacePool &of_step(std::size_t level, std::size_t place) { return *of_step_[level][place]; }
    WorkspacePool &of_subtree(std::size_t level, std::size_t place) { return *of_subtree_[level][place]; }

private:
    std::vector<std::vector<std::unique_ptr<WorkspacePool>>> of_step_, of_subtree_;
};

template <TaskKind kKind, class Placement = NoPlacement>
class StrassenTasks {
public:
    // Matrices of up to `grain` rows are below the cut-off.
    StrassenTasks(Workspaces &workspaces, std::size_t grain) : workspaces_(workspaces), grain_(grain) {}

    // c = a * b
    void multiply_parallel(const double *a, const double *b, double *c, std::size_t n_rows, int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        multiply(a, b, c, n_rows, 0, 0);
    }

private:
    // `level`: how often the matrices were divided; `index`: which of the 7^level products of the level this is.
    void multiply(const double *a, const double *b, double *c, std::size_t n_rows, std::size_t level,
                  std::size_t index) {
        if (n_rows <= kLeafRows) return multiply_leaves(a, b, c);
        const bool below = n_rows <= grain_;
        const std::size_t place = Placement::place(); // once: an untied task may go on elsewhere
        if (goes_serial<kKind>(below)) {
            WorkspacePool &pool = workspaces_.of_subtree(level, place);
            AlignedArray workspace = pool.take();
            multiply_serial(a, b, c, n_rows, workspace.data());
            pool.give_back(std::move(workspace));
            return;
        }
        WorkspacePool &pool = workspaces_.of_step(level, place);
        AlignedArray workspace = pool.take();
        const std::size_t n = n_rows / 2 * (n_rows / 2);
        Placement::place_workspace(level, workspace.data(), n);
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

    Workspaces &workspaces_;
    std::size_t grain_;
};

// Tasks that multiply_parallel creates for matrices of n_rows rows, when those of up to `grain` rows create none.
constexpr std::uint64_t count_strassen_tasks(std::size_t n_rows, std::size_t grain) {
    if (n_rows <= kLeafRows || n_rows <= grain) return 0;
    return kProducts + kProducts * count_strassen_tasks(n_rows / 2, grain);
}

} // namespace bots
