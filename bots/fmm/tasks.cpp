// SPDX-License-Identifier: Apache-2.0
// Driver: fast multipole method with OpenMP tasks.
#include "tasks.hpp"
#include "fmm_workload.hpp"
#include "inputs.hpp"

namespace {

class FmmTasks : public bots::FmmWorkload {
public:
    using FmmWorkload::FmmWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
#pragma omp parallel num_threads(options_.n_threads)
#pragma omp single
            input_.fmm().evaluate<bots::TaskGroup<kKind>>(grain_);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<FmmTasks>(argc, argv, bots::kFmm); }
