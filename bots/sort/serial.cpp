// SPDX-License-Identifier: Apache-2.0
//
// Driver: Cilksort, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "sort.hpp"

namespace {

class SortSerial : public bots::Workload {
public:
    explicit SortSerial(const bots::Options &options) : input_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { input_.fill(); }
    void run() override { bots::sort_serial(input_.data(), input_.scratch(), input_.size()); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::SortInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<SortSerial>(argc, argv, bots::kSort); }
