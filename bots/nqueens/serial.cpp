// SPDX-License-Identifier: Apache-2.0
// Driver: n queens, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "nqueens.hpp"

namespace {

class QueensSerial : public bots::Workload {
public:
    explicit QueensSerial(const bots::Options &options) : n_(static_cast<int>(options.inputs[0])) {}
    void run() override { solutions_ = bots::count_solutions(bots::Board{}, bots::full_row(n_)); }
    std::string check() override { return bots::check_queens(n_, solutions_); }
    std::optional<double> n_units() override { return bots::queens_placements(n_); }
    std::string describe_result() const override { return bots::describe_queens(n_, solutions_); }

private:
    int n_;
    std::uint64_t solutions_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<QueensSerial>(argc, argv, bots::kNQueens); }
