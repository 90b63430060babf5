// SPDX-License-Identifier: Apache-2.0
// The code that the task versions of Strassen's algorithm share: everything but the placement of tasks and
// memory.
#pragma once

#include <optional>
#include <string>

#include "harness.hpp"
#include "strassen_input.hpp"
#include "strassen_tasks.hpp"

namespace bots {

template <class Placement>
class StrassenParallel : public Workload {
public:
    explicit StrassenParallel(const Options &options)
        : options_(options), input_(kLeafRows << options.inputs[0]), workspaces_(input_.n_rows()) {
        for (double *const matrix : {input_.a(), input_.b(), input_.c()})
            Placement::place_matrix(matrix, input_.n_elements());
        workspaces_.prefill(serial_rows(), options.n_threads);
    }
    void prepare() override { input_.fill(0, input_.n_elements()); }
    void run() override {
        with_task_kind(options_, [this]<TaskKind kKind>() {
            StrassenTasks<kKind, Placement> tasks(workspaces_, grain());
            tasks.multiply_parallel(input_.a(), input_.b(), input_.c(), input_.n_rows(), options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override { return count_strassen_tasks(input_.n_rows(), serial_rows()); }
    std::optional<double> n_units() override { return n_strassen_operations(input_.n_rows()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    std::size_t grain() const { return static_cast<std::size_t>(options_.cuts[0]); }
    std::size_t serial_rows() const { return options_.cutoff == Cutoff::kManual ? grain() : 0; }

    Options options_;
    StrassenInput input_;
    Workspaces<Placement> workspaces_;
};

} // namespace bots
