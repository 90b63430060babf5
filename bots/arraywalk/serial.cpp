// SPDX-License-Identifier: Apache-2.0
// Driver: walks over an array, serial.
#include "arraywalk.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class ArraywalkSerial : public bots::Workload {
public:
    explicit ArraywalkSerial(const bots::Options &options)
        : n_rounds_(options.inputs[3]), array_(options.inputs[0], options.inputs[1], options.inputs[2]) {}
    void prepare() override { array_.fill(); }
    void run() override {
        for (std::int64_t round = 0; round < n_rounds_; round++) array_.walk(0, array_.n_cells());
    }
    std::string check() override { return array_.check(n_rounds_); }
    std::optional<double> n_units() override { return static_cast<double>(n_rounds_ * array_.n_cells()); }
    std::string describe_result() const override { return array_.describe(n_rounds_); }

private:
    std::int64_t n_rounds_;
    bots::WalkedArray array_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<ArraywalkSerial>(argc, argv, bots::kArraywalk); }
