// SPDX-License-Identifier: Apache-2.0
// Driver: serial quicksort, the baseline of cilksort.
#include "../sort/sort_workload.hpp"
#include "inputs.hpp"

namespace {

class CilksortSerial : public bots::SortWorkload {
public:
    using SortWorkload::SortWorkload;
    void run() override { bots::sort_leaf(input_.data(), input_.size()); }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<CilksortSerial>(argc, argv, bots::kCilksort); }
