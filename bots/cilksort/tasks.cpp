// SPDX-License-Identifier: Apache-2.0
// Driver: Cilksort with tasks and two cut-offs.
#include "../sort/sort_workload.hpp"
#include "cilksort_tasks.hpp"
#include "inputs.hpp"

namespace {

class CilksortTasks : public bots::SortTasksWorkload {
public:
    using SortTasksWorkload::SortTasksWorkload;
    void run() override {
        const bots::CilksortCuts cuts{static_cast<std::size_t>(options_.cuts[0]),
                                      static_cast<std::size_t>(options_.cuts[1])};
        bots::with_task_kind(options_, [&]<bots::TaskKind kKind>() {
            n_tasks_ =
                bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(), cuts, options_.n_threads);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<CilksortTasks>(argc, argv, bots::kCilksort); }
