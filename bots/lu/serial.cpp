// SPDX-License-Identifier: Apache-2.0
// Driver: LU factorization, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "lu.hpp"

namespace {

class LuSerial : public bots::Workload {
public:
    explicit LuSerial(const bots::Options &options)
        : input_(static_cast<std::size_t>(options.inputs[0]), bots::kSmallestBlock << options.inputs[1]) {}
    void prepare() override { input_.fill(); }
    void run() override { bots::factor_serial(input_.matrix, 0); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return input_.n_operations(); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::LuInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<LuSerial>(argc, argv, bots::kLu); }
