// SPDX-License-Identifier: Apache-2.0
// The code that the versions of swaptions share: the swaptions, their verification, and the amount of work.
#pragma once

#include "harness.hpp"
#include "swaption_book.hpp"

namespace bots {

class SwaptionsWorkload : public Workload {
public:
    explicit SwaptionsWorkload(const Options &options)
        : options_(options), book_(options.inputs[0], options.inputs[1]) {}
    void prepare() override { book_.forget_prices(); }
    std::string check() override { return book_.check(); }
    std::optional<double> n_units() override { return book_.n_paths(); }
    std::string describe_result() const override { return book_.describe(); }

protected:
    Options options_;
    SwaptionBook book_;
};

} // namespace bots
