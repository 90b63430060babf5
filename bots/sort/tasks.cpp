// SPDX-License-Identifier: Apache-2.0
//
// Driver: Cilksort with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "sort_tasks.hpp"

namespace {

class SortTasks : public bots::Workload {
public:
    explicit SortTasks(const bots::Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { input_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            n_tasks_ = bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(),
                                                  bots::SortCuts{static_cast<std::size_t>(options_.cuts[0])},
                                                  options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override { return n_tasks_; }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::Options options_;
    bots::SortInput input_;
    std::uint64_t n_tasks_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SortTasks>(argc, argv, bots::kSort); }
