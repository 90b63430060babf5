// SPDX-License-Identifier: Apache-2.0
// The code that the task versions of the LU factorization share: everything but the order of the tasks.
#pragma once

#include "harness.hpp"
#include "lu.hpp"

namespace bots {

class LuTasksWorkload : public Workload {
public:
    explicit LuTasksWorkload(const Options &options)
        : options_(options), grain_(static_cast<std::size_t>(options.cuts[0])),
          input_(static_cast<std::size_t>(options.inputs[0]), kSmallestBlock << options.inputs[1]) {}
    void prepare() override { input_.fill(); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return input_.n_operations(); }
    std::string describe_result() const override { return input_.describe(); }

protected:
    Options options_;
    std::size_t grain_;
    LuInput input_;
};

} // namespace bots
