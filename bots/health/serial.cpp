// SPDX-License-Identifier: Apache-2.0
// Driver: health simulation, serial.
#include "country.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class HealthSerial : public bots::Workload {
public:
    explicit HealthSerial(const bots::Options &options)
        : n_steps_(options.inputs[1]), country_(bots::shape_of(options.inputs)) {}
    void prepare() override { country_.populate(); }
    void run() override {
        for (std::int64_t step = 0; step < n_steps_; step++) bots::simulate_serial(country_.root());
    }
    std::string check() override { return country_.check_conservation(n_steps_); }
    std::optional<double> n_units() override { return country_.inhabitant_steps(n_steps_); }
    std::string describe_result() const override { return bots::describe_health(country_.total()); }

private:
    std::int64_t n_steps_;
    bots::Country country_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<HealthSerial>(argc, argv, bots::kHealth); }
