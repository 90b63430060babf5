// SPDX-License-Identifier: Apache-2.0
// Driver: adding up a tree with oneTBB's tasks.
#include "inputs.hpp"
#include "tbb_tasks.hpp"
#include "treeadd_workload.hpp"

namespace {

class TreeaddTbb : public bots::TreeaddWorkload {
public:
    using TreeaddWorkload::TreeaddWorkload;
    void run() override {
        bots::with_tbb_tasks(options_, [this]<bots::Cutoff kCutoff>() {
            for (std::uint64_t pass = 0; pass < passes_; pass++)
                sum_ += bots::add_tasks<bots::TbbTaskGroup<kCutoff>>(tree_.root(), depth());
        });
    }
    std::optional<std::uint64_t> n_tasks() override { return count_tasks(); }
};

} // namespace

int main(int argc, char **argv) { return bots::tbb_main<TreeaddTbb>(argc, argv, bots::kTreeadd); }
