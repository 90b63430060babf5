// SPDX-License-Identifier: Apache-2.0
// The code that the task versions of heat share: everything but the placement and the first touch of the plate.
#pragma once

#include "harness.hpp"
#include "heat_tasks.hpp"

namespace bots {

// `Domains`: as for for_bands; constructed for every run.
template <class Domains>
class HeatWorkload : public Workload {
public:
    explicit HeatWorkload(const Options &options)
        : options_(options), plate_(static_cast<std::size_t>(options.inputs[0])), n_steps_(options.inputs[1]),
          grain_(static_cast<std::size_t>(options.cuts[0])) {}
    void run() override {
        with_task_kind(options_, [this]<TaskKind kKind>() {
            diffuse_parallel<kKind>(plate_, n_steps_, grain_, options_.n_threads, Domains());
        });
    }
    std::string check() override { return plate_.check(n_steps_); }
    std::optional<std::uint64_t> n_tasks() override {
        const std::size_t grain = options_.cutoff == Cutoff::kManual ? grain_ : 1;
        return static_cast<std::uint64_t>(n_steps_) * count_band_tasks(plate_.n(), grain, Domains());
    }
    std::optional<double> n_units() override { return count_cell_steps(plate_.n(), n_steps_); }
    std::string describe_result() const override { return plate_.describe(n_steps_); }

protected:
    Options options_;
    Plate plate_;

private:
    std::int64_t n_steps_;
    std::size_t grain_; // rows
};

} // namespace bots
