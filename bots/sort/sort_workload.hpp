// SPDX-License-Identifier: Apache-2.0
// The code that the sorting programs share: everything but the algorithm.
#pragma once

#include "harness.hpp"
#include "sort.hpp"

namespace bots {

class SortWorkload : public Workload {
public:
    explicit SortWorkload(const Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.inputs[0])) {}
    void prepare() override { input_.fill(); }
    std::string check() override { return input_.check(); }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

protected:
    Options options_;
    SortInput input_;
};

// The workload of the versions with tasks, which count their tasks.
class SortTasksWorkload : public SortWorkload {
public:
    using SortWorkload::SortWorkload;
    std::optional<std::uint64_t> n_tasks() override { return n_tasks_; }

protected:
    std::uint64_t n_tasks_ = 0;
};

} // namespace bots
