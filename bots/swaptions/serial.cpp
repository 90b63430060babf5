// SPDX-License-Identifier: Apache-2.0
// Driver: swaption pricing, serial.
#include "inputs.hpp"
#include "swaptions_workload.hpp"

namespace {

class SwaptionsSerial : public bots::SwaptionsWorkload {
public:
    using SwaptionsWorkload::SwaptionsWorkload;
    void run() override { book_.simulate(0, book_.n_blocks()); }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<SwaptionsSerial>(argc, argv, bots::kSwaptions); }
