// SPDX-License-Identifier: Apache-2.0
//
// Driver: Fibonacci numbers, serial.
#include "fib.hpp"
#include "harness.hpp"

namespace {

class FibSerial : public bots::Workload {
public:
    explicit FibSerial(const bots::Options &options) : n_(static_cast<int>(options.size)) {}
    void run() override { result_ = bots::fib_serial(n_); }
    std::string check() override { return bots::check_fib(n_, result_); }
    std::string describe_result() const override { return bots::describe_fib(n_, result_); }

private:
    int n_;
    std::uint64_t result_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    return bots::serial_main(argc, argv, bots::kFib,
                             [](const bots::Options &options) { return std::make_unique<FibSerial>(options); });
}
