// SPDX-License-Identifier: Apache-2.0
// Driver: Strassen's algorithm, serial.
#include <algorithm>

#include "harness.hpp"
#include "inputs.hpp"
#include "strassen_input.hpp"

namespace {

class StrassenSerial : public bots::Workload {
public:
    explicit StrassenSerial(const bots::Options &options)
        : input_(bots::kLeafRows << options.inputs[0]), workspace_(bots::serial_workspace(input_.n_rows())) {
        std::fill_n(workspace_.data(), bots::serial_workspace(input_.n_rows()),
                    0.0); // touches the pages before the measurement
    }
    void prepare() override { input_.fill(0, input_.n_elements()); }
    void run() override {
        bots::multiply_serial(input_.a(), input_.b(), input_.c(), input_.n_rows(), workspace_.data());
    }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return bots::n_strassen_operations(input_.n_rows()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::StrassenInput input_;
    bots::AlignedArray workspace_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<StrassenSerial>(argc, argv, bots::kStrassen); }
