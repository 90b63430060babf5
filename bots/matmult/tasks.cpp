// SPDX-License-Identifier: Apache-2.0
// Driver: blocked matrix multiplication with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "matmult_tasks.hpp"

namespace {

class MatmultTasks : public bots::Workload {
public:
    explicit MatmultTasks(const bots::Options &options)
        : options_(options), grain_(static_cast<std::size_t>(options.cuts[0])),
          matrices_(static_cast<std::size_t>(options.inputs[0]), bots::kSmallestBlock << options.inputs[1]) {}
    void prepare() override { matrices_.c.fill_with_zeros(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::multiply_parallel<kKind>(matrices_, grain_, options_.n_threads);
        });
    }
    std::string check() override { return matrices_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_multiply_tasks(matrices_.all_blocks(), grain_, options_.cutoff);
    }
    std::optional<double> n_units() override { return matrices_.n_operations(); }
    std::string describe_result() const override { return matrices_.describe(); }

private:
    bots::Options options_;
    std::size_t grain_;
    bots::Multiplication matrices_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<MatmultTasks>(argc, argv, bots::kMatmult); }
