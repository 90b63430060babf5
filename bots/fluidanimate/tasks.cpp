// SPDX-License-Identifier: Apache-2.0
// Driver: particle fluid with tasks. Verified against the serial simulation, which runs once, after the first run.
#include "fluid_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FluidanimateTasks : public bots::Workload {
public:
    explicit FluidanimateTasks(const bots::Options &options)
        : options_(options), steps_(options.inputs[1]), fluid_(options.inputs[0]) {}
    void prepare() override { fluid_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::animate_parallel<kKind>(fluid_, steps_, options_.cuts[0], options_.n_threads);
        });
    }
    std::string check() override {
        if (!expected_) {
            expected_.emplace(options_.inputs[0]);
            expected_->fill();
            for (std::int64_t step = 0; step < steps_; step++) expected_->step(bots::SerialLoop());
        }
        if (!(fluid_ == *expected_)) return fluid_.describe() + "; the serial run had " + expected_->describe();
        return fluid_.check();
    }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_animate_tasks(fluid_, steps_, options_.cuts[0], options_.cutoff);
    }
    std::optional<double> n_units() override {
        return static_cast<double>(fluid_.n_particles()) * static_cast<double>(steps_);
    }
    std::string describe_result() const override { return fluid_.describe(); }

private:
    bots::Options options_;
    std::int64_t steps_;
    bots::Fluid fluid_;
    std::optional<bots::Fluid> expected_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<FluidanimateTasks>(argc, argv, bots::kFluidanimate); }
