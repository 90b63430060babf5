// SPDX-License-Identifier: Apache-2.0
// Driver: serial quicksort, the baseline of sample sort.
#include "../sort/sort_workload.hpp"
#include "inputs.hpp"

namespace {

class SamplesortSerial : public bots::SortWorkload {
public:
    using SortWorkload::SortWorkload;
    void run() override { bots::quicksort(input_.data(), input_.data() + input_.size()); }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<SamplesortSerial>(argc, argv, bots::kSamplesort); }
