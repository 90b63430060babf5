// SPDX-License-Identifier: Apache-2.0
// The code that the versions of the fast multipole method share: everything but the task group.
#pragma once

#include "fmm_input.hpp"
#include "harness.hpp"

namespace bots {

class FmmWorkload : public Workload {
public:
    explicit FmmWorkload(const Options &options)
        : options_(options), n_bodies_(static_cast<std::size_t>(options.inputs[0])),
          grain_(static_cast<std::size_t>(options.cuts[0])),
          input_(n_bodies_, static_cast<Distribution>(options.inputs[1]), static_cast<int>(options.inputs[2])) {}
    void prepare() override { input_.fmm().clear(); }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return input_.fmm().n_tasks(options_.cutoff == Cutoff::kManual ? grain_ : 0);
    }
    std::optional<double> n_units() override { return static_cast<double>(n_bodies_); }
    std::string describe_result() const override { return input_.describe(); }

protected:
    Options options_;
    std::size_t n_bodies_;
    std::size_t grain_;
    FmmInput input_;
};

} // namespace bots
