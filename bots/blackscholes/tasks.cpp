// SPDX-License-Identifier: Apache-2.0
// Driver: option pricing with tasks.
#include "blackscholes_tasks.hpp"
#include "blackscholes_workload.hpp"
#include "inputs.hpp"

namespace {

class BlackscholesTasks : public bots::BlackscholesWorkload {
public:
    using BlackscholesWorkload::BlackscholesWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::price_parallel<kKind>(portfolio_, rounds_, options_.cuts[0], options_.n_threads);
        });
    }
    std::optional<std::uint64_t> n_tasks() override {
        return static_cast<std::uint64_t>(rounds_) * bots::count_range_tasks(portfolio_.n_blocks(),
                                                                             bots::cut_of_portfolio(options_.cuts[0]),
                                                                             options_.cutoff);
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<BlackscholesTasks>(argc, argv, bots::kBlackscholes); }
