// SPDX-License-Identifier: Apache-2.0
// The code that all versions of treeadd share: the tree, its verification, and the amount of work.
#pragma once

#include "harness.hpp"
#include "treeadd.hpp"
#include "treeadd_tasks.hpp"

namespace bots {

class TreeaddWorkload : public Workload {
public:
    explicit TreeaddWorkload(const Options &options)
        : options_(options), passes_(static_cast<std::uint64_t>(options.inputs[1])),
          tree_(static_cast<int>(options.inputs[0])) {}
    void prepare() override { sum_ = 0; }
    std::string check() override { return tree_.check(sum_, passes_); }
    std::optional<double> n_units() override {
        return static_cast<double>(tree_.n_nodes()) * static_cast<double>(passes_);
    }
    std::string describe_result() const override { return tree_.describe(); }

protected:
    int depth() const { return static_cast<int>(options_.cuts[0]); }
    std::uint64_t count_tasks() const {
        return passes_ * count_add_tasks(tree_.levels(), options_.cutoff == Cutoff::kManual ? depth() : tree_.levels());
    }

    Options options_;
    std::uint64_t passes_;
    Tree tree_;
    std::uint64_t sum_ = 0; // of all passes
};

} // namespace bots
