// SPDX-License-Identifier: Apache-2.0
// Driver: fast multipole method, serial.
#include "fmm_workload.hpp"
#include "inputs.hpp"

namespace {

class FmmSerial : public bots::FmmWorkload {
public:
    using FmmWorkload::FmmWorkload;
    void run() override { input_.fmm().evaluate<bots::SerialGroup>(0); }
    std::optional<std::uint64_t> n_tasks() override { return 0; }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<FmmSerial>(argc, argv, bots::kFmm); }
