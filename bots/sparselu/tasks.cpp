// SPDX-License-Identifier: Apache-2.0
// Driver: sparse LU factorization with tasks from one thread.
#include "inputs.hpp"
#include "sparselu_workload.hpp"

namespace {

class SparseLu : public bots::SparseLuTasks {
public:
    using SparseLuTasks::SparseLuTasks;
    void run() override {
        bots::with_task_kind(options(), [this]<bots::TaskKind kKind>() {
            bots::factor_from_single<kKind>(matrix(), grain(), options().n_threads);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SparseLu>(argc, argv, bots::kSparseLu); }
