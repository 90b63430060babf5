// SPDX-License-Identifier: Apache-2.0
//
// Driver: diffusion of heat with tasks.
#include "anywhere.hpp"
#include "heat_workload.hpp"
#include "inputs.hpp"

int main(int argc, char **argv) {
    return bots::tasks_main<bots::HeatWorkload<bots::Anywhere>>(argc, argv, bots::kHeat);
}
