// SPDX-License-Identifier: Apache-2.0
// Driver: Strassen's algorithm with tasks and memory placed on locality domains.
#include "inputs.hpp"
#include "strassen_domains.hpp"
#include "strassen_workload.hpp"

int main(int argc, char **argv) {
    return bots::tasks_main<bots::StrassenParallel<bots::DomainPlacement>>(argc, argv, bots::kStrassen);
}
