// SPDX-License-Identifier: Apache-2.0
//
// Driver: the serial program that cilksort is compared with, quicksort.
#include "../sort/sort.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class CilksortSerial : public bots::Workload {
public:
    explicit CilksortSerial(const bots::Options &options) : input_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { input_.fill(); }
    void run() override { bots::sort_leaf(input_.data(), input_.size()); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::SortInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<CilksortSerial>(argc, argv, bots::kCilksort); }
