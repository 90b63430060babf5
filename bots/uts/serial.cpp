// SPDX-License-Identifier: Apache-2.0
// Driver: unbalanced tree search, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "uts.hpp"

namespace {

class UtsSerial : public bots::Workload {
public:
    explicit UtsSerial(const bots::Options &options) : tree_(bots::tree_rule(options.inputs[0])) {}
    void run() override {
        counts_ = {};
        bots::search_serial(tree_, bots::root_of(tree_.rule()), counts_);
    }
    std::string check() override { return bots::check_tree(tree_.rule(), counts_); }
    std::optional<double> n_units() override { return static_cast<double>(counts_.n_nodes); }
    std::string describe_result() const override { return bots::describe_tree(tree_.rule(), counts_); }

private:
    bots::Tree tree_;
    bots::TreeCounts counts_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<UtsSerial>(argc, argv, bots::kUts); }
