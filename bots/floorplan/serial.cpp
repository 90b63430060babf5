// SPDX-License-Identifier: Apache-2.0
// Driver: floorplan, serial.
#include "floorplan_check.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FloorplanSerial : public bots::Workload {
public:
    explicit FloorplanSerial(const bots::Options &options) : cells_(bots::make_cells(options.inputs[0])) {}
    void run() override {
        best_ = {};
        n_placed_ = 0;
        bots::Plan empty;
        bots::complete_serial(cells_, empty, best_, n_placed_);
    }
    std::string check() override { return judge_.check(cells_, best_.plan()); }
    std::optional<double> n_units() override { return static_cast<double>(n_placed_); }
    std::string describe_result() const override { return bots::describe_floorplan(best_.plan(), n_placed_); }

private:
    bots::Cells cells_;
    bots::BestPlan best_;
    std::uint64_t n_placed_ = 0;
    bots::FloorplanJudge judge_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<FloorplanSerial>(argc, argv, bots::kFloorplan); }
