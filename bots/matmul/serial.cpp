// SPDX-License-Identifier: Apache-2.0
// Driver: matrix multiplication, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "matmul_input.hpp"

namespace {

class MatmulSerial : public bots::Workload {
public:
    explicit MatmulSerial(const bots::Options &options) : input_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { input_.fill(); }
    void run() override { bots::multiply_serial(input_.product()); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return input_.n_flops(); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::MatmulInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<MatmulSerial>(argc, argv, bots::kMatmul); }
