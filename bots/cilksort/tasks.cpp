// SPDX-License-Identifier: Apache-2.0
//
// Driver: Cilksort with tasks and two cut-offs.
#include "cilksort_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class CilksortTasks : public bots::Workload {
public:
    explicit CilksortTasks(const bots::Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.inputs[0])),
          cuts_{static_cast<std::size_t>(options.cuts[0]), static_cast<std::size_t>(options.cuts[1])} {}
    void prepare() override { input_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            n_tasks_ =
                bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(), cuts_, options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override { return n_tasks_; }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::Options options_;
    bots::SortInput input_;
    bots::CilksortCuts cuts_;
    std::uint64_t n_tasks_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<CilksortTasks>(argc, argv, bots::kCilksort); }
