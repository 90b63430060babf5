// SPDX-License-Identifier: Apache-2.0
// Driver: Fourier transform, serial.
#include "fft_input.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FftSerial : public bots::Workload {
public:
    explicit FftSerial(const bots::Options &options) : input_(options.inputs[0]) {}
    void prepare() override { input_.fill(); }
    void run() override { bots::transform_serial(input_.data(), input_.scratch(), input_.size(), input_.roots()); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return input_.n_operations(); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::FftInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<FftSerial>(argc, argv, bots::kFft); }
