// SPDX-License-Identifier: Apache-2.0
// Driver: Fibonacci numbers, serial.
#include "fib.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FibSerial : public bots::Workload {
public:
    explicit FibSerial(const bots::Options &options) : n_(static_cast<int>(options.inputs[0])) {}
    void run() override { result_ = bots::fib_serial(n_); }
    std::string check() override { return bots::check_fib(n_, result_); }
    std::optional<double> n_units() override { return bots::count_fib_calls(n_); }
    std::string describe_result() const override { return bots::describe_fib(n_, result_); }

private:
    int n_;
    std::uint64_t result_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<FibSerial>(argc, argv, bots::kFib); }
