// SPDX-License-Identifier: Apache-2.0
//
// Driver: sample sort with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "samplesort_tasks.hpp"

namespace {

class SamplesortTasks : public bots::Workload {
public:
    explicit SamplesortTasks(const bots::Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.inputs[0])),
          sort_(input_.data(), input_.scratch(), input_.size()) {}
    void prepare() override { input_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::sample_sort_parallel<kKind>(sort_, options_.cuts[0], options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_sample_sort_tasks(sort_, options_.cuts[0], options_.cutoff);
    }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::Options options_;
    bots::SortInput input_;
    bots::SampleSort sort_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SamplesortTasks>(argc, argv, bots::kSamplesort); }
