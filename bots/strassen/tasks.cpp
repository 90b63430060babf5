// SPDX-License-Identifier: Apache-2.0
// Driver: Strassen's algorithm with tasks.
#include "inputs.hpp"
#include "strassen_workload.hpp"

int main(int argc, char **argv) {
    return bots::tasks_main<bots::StrassenParallel<bots::NoPlacement>>(argc, argv, bots::kStrassen);
}
