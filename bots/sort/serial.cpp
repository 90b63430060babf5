// SPDX-License-Identifier: Apache-2.0
// Driver: Cilksort, serial.
#include "inputs.hpp"
#include "sort_workload.hpp"

namespace {

class SortSerial : public bots::SortWorkload {
public:
    using SortWorkload::SortWorkload;
    void run() override { bots::sort_serial(input_.data(), input_.scratch(), input_.size()); }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<SortSerial>(argc, argv, bots::kSort); }
