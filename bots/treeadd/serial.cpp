// SPDX-License-Identifier: Apache-2.0
// Driver: adding up a tree, serial.
#include "inputs.hpp"
#include "treeadd_workload.hpp"

namespace {

class TreeaddSerial : public bots::TreeaddWorkload {
public:
    using TreeaddWorkload::TreeaddWorkload;
    void run() override {
        for (std::uint64_t pass = 0; pass < passes_; pass++) sum_ += bots::add_serial(tree_.root());
    }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<TreeaddSerial>(argc, argv, bots::kTreeadd); }
