// SPDX-License-Identifier: Apache-2.0
// Driver: knapsack, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "knapsack.hpp"

namespace {

class KnapsackSerial : public bots::Workload {
public:
    explicit KnapsackSerial(const bots::Options &options) : knapsack_(options.inputs[0]) {}
    void run() override {
        n_nodes_ = 0;
        best_.value = knapsack_.greedy();
        bots::pack_serial(knapsack_.empty(), best_, n_nodes_);
    }
    std::string check() override { return knapsack_.check(best_.value); }
    std::optional<double> n_units() override { return static_cast<double>(n_nodes_); }
    std::string describe_result() const override { return knapsack_.describe(best_.value, n_nodes_); }

private:
    bots::Knapsack knapsack_;
    bots::Best best_ = {0};
    std::uint64_t n_nodes_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<KnapsackSerial>(argc, argv, bots::kKnapsack); }
