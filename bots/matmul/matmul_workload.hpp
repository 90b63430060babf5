// SPDX-License-Identifier: Apache-2.0
// The code that the task versions of the matrix multiplication share: everything but the runtime.
#pragma once

#include "harness.hpp"
#include "matmul_input.hpp"
#include "matmul_tasks.hpp"

namespace bots {

class MatmulWorkload : public Workload {
public:
    explicit MatmulWorkload(const Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.inputs[0])),
          grain_(static_cast<std::size_t>(options.cuts[0]) / kTile) {}
    void prepare() override { input_.fill(); }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return count_multiply_tasks(input_.product(), options_.cutoff == Cutoff::kManual ? grain_ : 1);
    }
    std::optional<double> n_units() override { return input_.n_flops(); }
    std::string describe_result() const override { return input_.describe(); }

protected:
    Options options_;
    MatmulInput input_;
    std::size_t grain_; // tiles
};

} // namespace bots
