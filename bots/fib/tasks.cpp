// SPDX-License-Identifier: Apache-2.0
// Driver: Fibonacci numbers with tasks.
#include "fib_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FibTasks : public bots::Workload {
public:
    explicit FibTasks(const bots::Options &options) : options_(options), n_(static_cast<int>(options.inputs[0])) {}
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            result_ = bots::fib_parallel<kKind>(n_, static_cast<int>(options_.cuts[0]), options_.n_threads);
        });
    }
    std::string check() override { return bots::check_fib(n_, result_); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_fib_tasks(n_, options_.cutoff == bots::Cutoff::kManual ? options_.cuts[0] : n_);
    }
    std::optional<double> n_units() override { return bots::count_fib_calls(n_); }
    std::string describe_result() const override { return bots::describe_fib(n_, result_); }

private:
    bots::Options options_;
    int n_;
    std::uint64_t result_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<FibTasks>(argc, argv, bots::kFib); }
