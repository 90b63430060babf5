// SPDX-License-Identifier: Apache-2.0
// Driver: particle fluid, serial.
#include "fluid.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FluidanimateSerial : public bots::Workload {
public:
    explicit FluidanimateSerial(const bots::Options &options) : steps_(options.inputs[1]), fluid_(options.inputs[0]) {}
    void prepare() override { fluid_.fill(); }
    void run() override {
        for (std::int64_t step = 0; step < steps_; step++) fluid_.step(bots::SerialLoop());
    }
    std::string check() override { return fluid_.check(); }
    std::optional<double> n_units() override {
        return static_cast<double>(fluid_.n_particles()) * static_cast<double>(steps_);
    }
    std::string describe_result() const override { return fluid_.describe(); }

private:
    std::int64_t steps_;
    bots::Fluid fluid_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<FluidanimateSerial>(argc, argv, bots::kFluidanimate); }
