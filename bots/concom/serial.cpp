// SPDX-License-Identifier: Apache-2.0
// Driver: connected components, serial.
#include "concom.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class ConcomSerial : public bots::Workload {
public:
    explicit ConcomSerial(const bots::Options &options) : input_(options.inputs[0], options.inputs[1]) {}
    void prepare() override { input_.forget(); }
    void run() override {
        const bots::Components components = input_.components();
        n_components_ = bots::for_each_component(
            input_.graph(), components, [&](std::uint32_t start, std::uint32_t number, std::size_t n_reached) {
                return bots::search_component_serial(input_.graph(), components, start, number, n_reached,
                                                     [](std::size_t) {});
            });
    }
    std::string check() override { return input_.check(n_components_); }
    std::optional<double> n_units() override { return static_cast<double>(input_.graph().n_arcs()); }
    std::string describe_result() const override { return input_.describe(n_components_); }

private:
    bots::ConcomInput input_;
    std::uint32_t n_components_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<ConcomSerial>(argc, argv, bots::kConcom); }
