// SPDX-License-Identifier: Apache-2.0
// Driver: diffusion of heat, serial.
#include "harness.hpp"
#include "heat.hpp"
#include "inputs.hpp"

namespace {

class HeatSerial : public bots::Workload {
public:
    explicit HeatSerial(const bots::Options &options)
        : n_steps_(options.inputs[1]), plate_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { plate_.initialize(1, plate_.n() + 1); }
    void run() override {
        for (std::int64_t step = 0; step < n_steps_; step++) plate_.sweep(step, 1, plate_.n() + 1);
    }
    std::string check() override { return plate_.check(n_steps_); }
    std::optional<double> n_units() override { return bots::count_cell_steps(plate_.n(), n_steps_); }
    std::string describe_result() const override { return plate_.describe(n_steps_); }

private:
    std::int64_t n_steps_;
    bots::Plate plate_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<HeatSerial>(argc, argv, bots::kHeat); }
