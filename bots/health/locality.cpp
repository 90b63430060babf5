// SPDX-License-Identifier: Apache-2.0
// Driver: health simulation with placed tasks: each subtree of villages is populated and simulated in one domain.
#include "domain_range.hpp"
#include "health_workload.hpp"
#include "inputs.hpp"

namespace {

class HealthLocality : public bots::HealthWorkload {
public:
    using HealthWorkload::HealthWorkload;
    void prepare() override {
        bots::on_domains(options_.n_threads,
                         [this](const auto &owns) { country_.populate(bots::DomainRange(), owns); });
    }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::simulate_parallel<kKind>(country_.root(), options_.inputs[1], static_cast<int>(options_.cuts[0]),
                                           options_.n_threads, bots::DomainRange());
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<HealthLocality>(argc, argv, bots::kHealth); }
