// SPDX-License-Identifier: Apache-2.0
// Driver: diffusion of heat with placed tasks: each band of rows is initialized and swept in one domain.
#include "domain_range.hpp"
#include "heat_workload.hpp"
#include "inputs.hpp"

namespace {

class HeatLocality : public bots::HeatWorkload<bots::DomainRange> {
public:
    using HeatWorkload::HeatWorkload;
    void prepare() override {
        bots::on_domains(options_.n_threads, [this](const auto &owns) {
            bots::for_domain_parts(1, plate_.n(), bots::DomainRange(),
                                   [&](std::size_t first, std::size_t last, int domain) {
                                       if (first < last && owns(domain)) plate_.initialize(first, last);
                                   });
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<HeatLocality>(argc, argv, bots::kHeat); }
