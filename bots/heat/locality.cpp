// SPDX-License-Identifier: Apache-2.0
//
// Driver: diffusion of heat with tasks that are placed: bands of rows are initialized and swept in one domain.
#include "domain_range.hpp"
#include "heat_workload.hpp"
#include "inputs.hpp"

int main(int argc, char **argv) {
    return bots::tasks_main<bots::HeatWorkload<bots::DomainRange>>(argc, argv, bots::kHeat);
}
