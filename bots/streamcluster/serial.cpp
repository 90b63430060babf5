// SPDX-License-Identifier: Apache-2.0
// Driver: stream clustering, serial.
#include "inputs.hpp"
#include "streamcluster_workload.hpp"

namespace {

class StreamclusterSerial : public bots::StreamclusterWorkload {
public:
    using StreamclusterWorkload::StreamclusterWorkload;
    void run() override { clustering_.run(bots::serial_loop); }
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<StreamclusterSerial>(argc, argv, bots::kStreamcluster); }
