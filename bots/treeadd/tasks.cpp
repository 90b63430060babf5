// SPDX-License-Identifier: Apache-2.0
// Driver: adding up a tree with OpenMP tasks.
#include "tasks.hpp"
#include "inputs.hpp"
#include "treeadd_workload.hpp"

namespace {

class TreeaddTasks : public bots::TreeaddWorkload {
public:
    using TreeaddWorkload::TreeaddWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
#pragma omp parallel num_threads(options_.n_threads)
#pragma omp single
            for (std::uint64_t pass = 0; pass < passes_; pass++)
                sum_ += bots::add_tasks<bots::TaskGroup<kKind>>(tree_.root(), depth());
        });
    }
    std::optional<std::uint64_t> n_tasks() override { return count_tasks(); }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<TreeaddTasks>(argc, argv, bots::kTreeadd); }
