// SPDX-License-Identifier: Apache-2.0
// Driver: option pricing, serial.
#include "blackscholes_workload.hpp"
#include "inputs.hpp"

namespace {

class BlackscholesSerial : public bots::BlackscholesWorkload {
public:
    using BlackscholesWorkload::BlackscholesWorkload;
    void run() override {
        for (std::int64_t round = 0; round < rounds_; round++) portfolio_.price(0, portfolio_.n_blocks());
    }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<BlackscholesSerial>(argc, argv, bots::kBlackscholes); }
