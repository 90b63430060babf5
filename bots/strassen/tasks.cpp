// SPDX-License-Identifier: Apache-2.0
//
// Driver: Strassen's algorithm with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "strassen_input.hpp"
#include "strassen_tasks.hpp"

namespace {

class StrassenParallel : public bots::Workload {
public:
    explicit StrassenParallel(const bots::Options &options)
        : options_(options), input_(bots::kLeafRows << options.inputs[0]),
          workspaces_(input_.n_rows(), bots::NoPlacement::n_pools()) {}
    void prepare() override { input_.fill(0, input_.n_elements()); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::StrassenTasks<kKind> tasks(workspaces_, grain());
            tasks.multiply_parallel(input_.a(), input_.b(), input_.c(), input_.n_rows(), options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_strassen_tasks(input_.n_rows(), options_.cutoff == bots::Cutoff::kManual ? grain() : 0);
    }
    std::optional<double> n_units() override { return bots::n_strassen_operations(input_.n_rows()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    std::size_t grain() const { return static_cast<std::size_t>(options_.cuts[0]); }

    bots::Options options_;
    bots::StrassenInput input_;
    bots::Workspaces workspaces_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<StrassenParallel>(argc, argv, bots::kStrassen); }
