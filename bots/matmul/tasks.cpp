// SPDX-License-Identifier: Apache-2.0
// Driver: matrix multiplication with OpenMP tasks.
#include "tasks.hpp"
#include "inputs.hpp"
#include "matmul_workload.hpp"

namespace {

class MatmulTasks : public bots::MatmulWorkload {
public:
    using MatmulWorkload::MatmulWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
#pragma omp parallel num_threads(options_.n_threads)
#pragma omp single
            bots::multiply_tasks<bots::TaskGroup<kKind>>(input_.product(), grain_);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<MatmulTasks>(argc, argv, bots::kMatmul); }
