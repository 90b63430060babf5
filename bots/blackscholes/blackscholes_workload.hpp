// SPDX-License-Identifier: Apache-2.0
// The code that the versions of blackscholes share: the portfolio, its verification, and the amount of work.
#pragma once

#include "harness.hpp"
#include "portfolio.hpp"

namespace bots {

class BlackscholesWorkload : public Workload {
public:
    explicit BlackscholesWorkload(const Options &options)
        : options_(options), rounds_(options.inputs[1]), portfolio_(options.inputs[0]) {}
    void prepare() override { portfolio_.forget_prices(); }
    std::string check() override { return portfolio_.check(); }
    std::optional<double> n_units() override { return portfolio_.n_options() * static_cast<double>(rounds_); }
    std::string describe_result() const override { return portfolio_.describe(); }

protected:
    Options options_;
    std::int64_t rounds_;
    Portfolio portfolio_;
};

} // namespace bots
