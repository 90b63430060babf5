// SPDX-License-Identifier: Apache-2.0
// Driver: alignment of proteins with tasks.
#include "alignment_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class AlignmentTasks : public bots::Workload {
public:
    explicit AlignmentTasks(const bots::Options &options)
        : options_(options), proteins_(options.inputs[0], options.inputs[1]),
          aligners_(static_cast<std::size_t>(options.n_threads), bots::Aligner(proteins_.longest())) {}
    void prepare() override { proteins_.forget(); }
    void run() override {
        bots::with_task_kind<bots::kAlignment.cutoffs>(
            options_, [this]<bots::TaskKind kKind>() { bots::align_all_parallel<kKind>(proteins_, aligners_); });
    }
    std::string check() override { return proteins_.check(); }
    std::optional<std::uint64_t> n_tasks() override { return proteins_.n_pairs(); }
    std::optional<double> n_units() override { return proteins_.n_cells(); }
    std::string describe_result() const override { return proteins_.describe(); }

private:
    bots::Options options_;
    bots::Proteins proteins_;
    std::vector<bots::Aligner> aligners_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<AlignmentTasks>(argc, argv, bots::kAlignment); }
