// SPDX-License-Identifier: Apache-2.0
//
// Driver: LU factorization with tasks in waves.
#include "harness.hpp"
#include "inputs.hpp"
#include "lu_tasks.hpp"

namespace {

class LuTasks : public bots::Workload {
public:
    explicit LuTasks(const bots::Options &options)
        : options_(options), grain_(static_cast<std::size_t>(options.cuts[0])),
          input_(static_cast<std::size_t>(options.inputs[0]), bots::kSmallestBlock << options.inputs[1]) {}
    void prepare() override { input_.fill(); }
    void run() override {
        bots::with_task_kind<bots::kLu.cutoffs>(options_, [this]<bots::TaskKind kKind>() {
            bots::factor_parallel<kKind>(input_.matrix, grain_, options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_factor_tasks(input_.matrix.n_blocks(), grain_, options_.cutoff);
    }
    std::optional<double> n_units() override { return input_.n_operations(); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::Options options_;
    std::size_t grain_;
    bots::LuInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<LuTasks>(argc, argv, bots::kLu); }
