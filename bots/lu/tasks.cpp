// SPDX-License-Identifier: Apache-2.0
// Driver: LU factorization with tasks in waves.
#include "inputs.hpp"
#include "lu_tasks.hpp"
#include "lu_workload.hpp"

namespace {

class LuTasks : public bots::LuTasksWorkload {
public:
    using LuTasksWorkload::LuTasksWorkload;
    void run() override {
        bots::with_task_kind<bots::kLu.cutoffs>(options_, [this]<bots::TaskKind kKind>() {
            bots::factor_parallel<kKind>(input_.matrix, grain_, waves_, options_.n_threads);
        });
    }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_factor_tasks(input_.matrix.n_blocks(), grain_, waves_, options_.cutoff);
    }

private:
    bots::Waves waves_ = static_cast<bots::Waves>(options_.inputs[2]);
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<LuTasks>(argc, argv, bots::kLu); }
