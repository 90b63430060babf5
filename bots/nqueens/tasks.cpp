// SPDX-License-Identifier: Apache-2.0
//
// Driver: n queens with tasks.
#include "harness.hpp"
#include "nqueens_tasks.hpp"

namespace {

class QueensTasks : public bots::Workload {
public:
    explicit QueensTasks(const bots::Options &options) : options_(options), n_(static_cast<int>(options.size)) {}
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            solutions_ = bots::count_solutions_parallel<kKind>(n_, static_cast<int>(options_.cut), options_.n_threads);
        });
    }
    std::string check() override { return bots::check_queens(n_, solutions_); }
    // Walks the search tree once more, outside of the measurement.
    std::optional<std::uint64_t> n_tasks() override {
        const std::int64_t rows = options_.cutoff == bots::Cutoff::kManual ? options_.cut : n_;
        return bots::count_placements(bots::Board{}, bots::full_row(n_), rows);
    }
    std::string describe_result() const override { return bots::describe_queens(n_, solutions_); }

private:
    bots::Options options_;
    int n_;
    std::uint64_t solutions_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    return bots::tasks_main(argc, argv, bots::kNQueens, BOTS_VERSION, omp_get_max_threads(),
                            [](const bots::Options &options) { return std::make_unique<QueensTasks>(options); });
}
