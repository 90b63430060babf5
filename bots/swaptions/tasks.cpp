// SPDX-License-Identifier: Apache-2.0
// Driver: swaption pricing with tasks.
#include "inputs.hpp"
#include "swaptions_tasks.hpp"
#include "swaptions_workload.hpp"

namespace {

class SwaptionsTasks : public bots::SwaptionsWorkload {
public:
    using SwaptionsWorkload::SwaptionsWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::simulate_parallel<kKind>(book_, options_.cuts[0], options_.n_threads);
        });
    }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_range_tasks(book_.n_blocks(), bots::cut_of_paths(options_.cuts[0]), options_.cutoff);
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SwaptionsTasks>(argc, argv, bots::kSwaptions); }
