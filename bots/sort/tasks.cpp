// SPDX-License-Identifier: Apache-2.0
// Driver: Cilksort with tasks.
#include "inputs.hpp"
#include "sort_tasks.hpp"
#include "sort_workload.hpp"

namespace {

class SortTasks : public bots::SortTasksWorkload {
public:
    using SortTasksWorkload::SortTasksWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            n_tasks_ = bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(),
                                                  bots::SortCuts{static_cast<std::size_t>(options_.cuts[0])},
                                                  options_.n_threads);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SortTasks>(argc, argv, bots::kSort); }
