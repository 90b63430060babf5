// SPDX-License-Identifier: Apache-2.0
// Driver: unbalanced tree search with tasks.
#include "harness.hpp"
#include "inputs.hpp"
#include "uts_tasks.hpp"

namespace {

class UtsTasks : public bots::Workload {
public:
    explicit UtsTasks(const bots::Options &options)
        : options_(options), tree_(bots::tree_rule(options.inputs[0])),
          of_thread_(static_cast<std::size_t>(options.n_threads)) {
        const std::int64_t depth = tree_.rule().depth;
        const bool manual = options.cutoff == bots::Cutoff::kManual;
        if ((manual ? std::min(options.cuts[0], depth) : depth) > bots::kMaxNestedTasks)
            throw bots::UsageError(
                std::string(tree_.rule().name) + " is " + std::to_string(depth) +
                " levels deep, too deep for tasks on every level: use --cutoff manual with --depth " +
                std::to_string(bots::kMaxNestedTasks) + " or less");
    }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            counts_ = bots::search_parallel<kKind>(tree_, static_cast<int>(options_.cuts[0]), of_thread_);
        });
    }
    std::string check() override { return bots::check_tree(tree_.rule(), counts_); }
    // Walks the upper part of the tree again, outside of the measurement.
    std::optional<std::uint64_t> n_tasks() override {
        if (options_.cutoff != bots::Cutoff::kManual) return counts_.n_nodes - 1;
        return bots::count_descendants(tree_, bots::root_of(tree_.rule()), options_.cuts[0]);
    }
    std::optional<double> n_units() override { return static_cast<double>(counts_.n_nodes); }
    std::string describe_result() const override { return bots::describe_tree(tree_.rule(), counts_); }

private:
    bots::Options options_;
    bots::Tree tree_;
    std::vector<bots::ThreadTreeCounts> of_thread_;
    bots::TreeCounts counts_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<UtsTasks>(argc, argv, bots::kUts); }
