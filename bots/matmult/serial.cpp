// SPDX-License-Identifier: Apache-2.0
// Driver: blocked matrix multiplication, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "matmult.hpp"

namespace {

class MatmultSerial : public bots::Workload {
public:
    explicit MatmultSerial(const bots::Options &options)
        : matrices_(static_cast<std::size_t>(options.inputs[0]), bots::kSmallestBlock << options.inputs[1]) {}
    void prepare() override { matrices_.c.fill_with_zeros(); }
    void run() override { bots::multiply_blocks(matrices_.a, matrices_.b, matrices_.c, matrices_.all_blocks()); }
    std::string check() override { return matrices_.check(); }
    std::optional<double> n_units() override { return matrices_.n_operations(); }
    std::string describe_result() const override { return matrices_.describe(); }

private:
    bots::Multiplication matrices_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<MatmultSerial>(argc, argv, bots::kMatmult); }
