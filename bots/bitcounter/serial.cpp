// SPDX-License-Identifier: Apache-2.0
// Driver: bit counting, serial.
#include "bitcounter.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class BitcounterSerial : public bots::Workload {
public:
    explicit BitcounterSerial(const bots::Options &options)
        : rounds_(options.inputs[2]), vectors_(options.inputs[0], options.inputs[1]) {}
    void prepare() override { vectors_.clear_counts(); }
    void run() override {
        for (std::int64_t round = 0; round < rounds_; round++) vectors_.count(0, vectors_.size());
    }
    std::string check() override { return vectors_.check(rounds_); }
    std::optional<double> n_units() override {
        return static_cast<double>(vectors_.n_words()) * static_cast<double>(rounds_);
    }
    std::string describe_result() const override { return vectors_.describe(); }

private:
    std::int64_t rounds_;
    bots::BitVectors vectors_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<BitcounterSerial>(argc, argv, bots::kBitcounter); }
