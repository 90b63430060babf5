// SPDX-License-Identifier: Apache-2.0
// Driver: walks over an array with tasks.
#include "arraywalk_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class ArraywalkTasks : public bots::Workload {
public:
    explicit ArraywalkTasks(const bots::Options &options)
        : options_(options), n_rounds_(options.inputs[3]),
          array_(options.inputs[0], options.inputs[1], options.inputs[2]) {}
    void prepare() override { array_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::walk_parallel<kKind>(array_, n_rounds_, options_.cuts[0], options_.n_threads);
        });
    }
    std::string check() override { return array_.check(n_rounds_); }
    std::optional<std::uint64_t> n_tasks() override {
        const bots::RangeCut cut = {.leaf = bots::kWalkLeaf, .grain = options_.cuts[0]};
        return static_cast<std::uint64_t>(n_rounds_) * bots::count_range_tasks(array_.n_cells(), cut, options_.cutoff);
    }
    std::optional<double> n_units() override { return static_cast<double>(n_rounds_ * array_.n_cells()); }
    std::string describe_result() const override { return array_.describe(n_rounds_); }

private:
    bots::Options options_;
    std::int64_t n_rounds_;
    bots::WalkedArray array_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<ArraywalkTasks>(argc, argv, bots::kArraywalk); }
