// SPDX-License-Identifier: Apache-2.0
// Driver: LU factorization with tasks ordered by their dependences.
#include "inputs.hpp"
#include "lu_depend.hpp"
#include "lu_workload.hpp"

namespace {

class LuDepend : public bots::LuTasksWorkload {
public:
    using LuTasksWorkload::LuTasksWorkload;
    void run() override {
        bots::with_task_kind<bots::kLu.cutoffs>(options_, [this]<bots::TaskKind kKind>() {
            bots::factor_depend_parallel<kKind>(input_.matrix, grain_, options_.n_threads);
        });
    }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_depend_tasks(input_.matrix.n_blocks(), grain_, options_.cutoff);
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<LuDepend>(argc, argv, bots::kLu); }
