// SPDX-License-Identifier: Apache-2.0
// Driver: sample sort with tasks.
#include "../sort/sort_workload.hpp"
#include "inputs.hpp"
#include "samplesort_tasks.hpp"

namespace {

class SamplesortTasks : public bots::SortWorkload {
public:
    explicit SamplesortTasks(const bots::Options &options)
        : SortWorkload(options), sort_(input_.data(), input_.scratch(), input_.size()) {}
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::sample_sort_parallel<kKind>(sort_, options_.cuts[0], options_.n_threads);
        });
    }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_sample_sort_tasks(sort_, options_.cuts[0], options_.cutoff);
    }

private:
    bots::SampleSort sort_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SamplesortTasks>(argc, argv, bots::kSamplesort); }
