// SPDX-License-Identifier: Apache-2.0
// Driver: floorplan with tasks.
#include "floorplan_check.hpp"
#include "floorplan_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FloorplanParallel : public bots::Workload {
public:
    explicit FloorplanParallel(const bots::Options &options)
        : options_(options), cells_(bots::make_cells(options.inputs[0])) {}
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::FloorplanTasks<kKind> tasks(cells_, options_.n_threads);
            counts_ = tasks.search(static_cast<int>(options_.cuts[0]));
            best_ = tasks.best();
        });
    }
    std::string check() override { return judge_.check(cells_, best_); }
    std::optional<std::uint64_t> n_tasks() override { return counts_.n_tasks; }
    std::optional<double> n_units() override { return static_cast<double>(counts_.n_placed); }
    std::string describe_result() const override { return bots::describe_floorplan(best_, counts_.n_placed); }

private:
    bots::Options options_;
    bots::Cells cells_;
    bots::Plan best_;
    bots::FloorplanCounts counts_;
    bots::FloorplanJudge judge_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<FloorplanParallel>(argc, argv, bots::kFloorplan); }
