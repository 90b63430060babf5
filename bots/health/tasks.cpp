// SPDX-License-Identifier: Apache-2.0
// Driver: health simulation with tasks.
#include "health_workload.hpp"
#include "inputs.hpp"

namespace {

class HealthTasks : public bots::HealthWorkload {
public:
    using HealthWorkload::HealthWorkload;
    void prepare() override { country_.populate(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::simulate_parallel<kKind>(country_.root(), options_.inputs[1], static_cast<int>(options_.cuts[0]),
                                           options_.n_threads);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<HealthTasks>(argc, argv, bots::kHealth); }
