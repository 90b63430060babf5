// SPDX-License-Identifier: Apache-2.0
// Driver: maximal independent set, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "mis.hpp"

namespace {

class MisSerial : public bots::Workload {
public:
    explicit MisSerial(const bots::Options &options) : set_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { set_.clear(); }
    void run() override { set_.decide(0, static_cast<std::int64_t>(set_.n_vertices())); }
    std::string check() override { return set_.check(); }
    std::optional<double> n_units() override { return static_cast<double>(set_.n_vertices()); }
    std::string describe_result() const override { return set_.describe(); }

private:
    bots::IndependentSet set_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<MisSerial>(argc, argv, bots::kMis); }
