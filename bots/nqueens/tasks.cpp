// SPDX-License-Identifier: Apache-2.0
// Driver: n queens with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "nqueens_tasks.hpp"

namespace {

class QueensTasks : public bots::Workload {
public:
    explicit QueensTasks(const bots::Options &options) : options_(options), n_(static_cast<int>(options.inputs[0])) {}
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            solutions_ =
                bots::count_solutions_parallel<kKind>(n_, static_cast<int>(options_.cuts[0]), options_.n_threads);
        });
    }
    std::string check() override { return bots::check_queens(n_, solutions_); }
    // Walks the search tree again, outside of the measurement.
    std::optional<std::uint64_t> n_tasks() override {
        const std::int64_t rows = options_.cutoff == bots::Cutoff::kManual ? options_.cuts[0] : n_;
        return bots::count_placements(bots::Board{}, bots::full_row(n_), rows);
    }
    std::optional<double> n_units() override { return bots::queens_placements(n_); }
    std::string describe_result() const override { return bots::describe_queens(n_, solutions_); }

private:
    bots::Options options_;
    int n_;
    std::uint64_t solutions_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<QueensTasks>(argc, argv, bots::kNQueens); }
