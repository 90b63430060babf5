// SPDX-License-Identifier: Apache-2.0
// Driver: knapsack with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "knapsack_tasks.hpp"

namespace {

class KnapsackWithTasks : public bots::Workload {
public:
    explicit KnapsackWithTasks(const bots::Options &options) : options_(options), knapsack_(options.inputs[0]) {}
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::KnapsackTasks<kKind> tasks(knapsack_.greedy(), options_.n_threads);
            result_ = tasks.search(knapsack_.empty(), static_cast<int>(options_.cuts[0]));
        });
    }
    std::string check() override { return knapsack_.check(result_.value); }
    std::optional<std::uint64_t> n_tasks() override { return result_.counts.n_tasks; }
    std::optional<double> n_units() override { return static_cast<double>(result_.counts.n_nodes); }
    std::string describe_result() const override { return knapsack_.describe(result_.value, result_.counts.n_nodes); }

private:
    bots::Options options_;
    bots::Knapsack knapsack_;
    bots::KnapsackResult result_ = {};
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<KnapsackWithTasks>(argc, argv, bots::kKnapsack); }
