// SPDX-License-Identifier: Apache-2.0
// Driver: alignment of proteins, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "proteins.hpp"

namespace {

class AlignmentSerial : public bots::Workload {
public:
    explicit AlignmentSerial(const bots::Options &options)
        : proteins_(options.inputs[0], options.inputs[1]), aligner_(proteins_.longest()) {}
    void prepare() override { proteins_.forget(); }
    void run() override {
        for (std::size_t i = 1; i < proteins_.n_sequences(); i++)
            for (std::size_t j = 0; j < i; j++)
                proteins_.alignment(i, j) = aligner_.align(proteins_.sequence(i), proteins_.sequence(j));
    }
    std::string check() override { return proteins_.check(); }
    std::optional<double> n_units() override { return proteins_.n_cells(); }
    std::string describe_result() const override { return proteins_.describe(); }

private:
    bots::Proteins proteins_;
    bots::Aligner aligner_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<AlignmentSerial>(argc, argv, bots::kAlignment); }
