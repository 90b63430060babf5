// SPDX-License-Identifier: Apache-2.0
// Driver: maximal independent set with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "mis_tasks.hpp"

namespace {

class MisTasks : public bots::Workload {
public:
    explicit MisTasks(const bots::Options &options)
        : options_(options), set_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { set_.clear(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::decide_parallel<kKind>(set_, options_.cuts[0], options_.n_threads);
        });
    }
    std::string check() override { return set_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_range_tasks(static_cast<std::int64_t>(set_.n_vertices()),
                                       {.leaf = bots::kMisLeaf, .grain = options_.cuts[0]}, options_.cutoff);
    }
    std::optional<double> n_units() override { return static_cast<double>(set_.n_vertices()); }
    std::string describe_result() const override { return set_.describe(); }

private:
    bots::Options options_;
    bots::IndependentSet set_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<MisTasks>(argc, argv, bots::kMis); }
