// SPDX-License-Identifier: Apache-2.0
// The code that the task versions of the health simulation share: everything but the placement of tasks and data.
// Verified against the serial simulation, which runs once, after the first run.
#pragma once

#include "country.hpp"
#include "harness.hpp"
#include "health_tasks.hpp"

namespace bots {

class HealthWorkload : public Workload {
public:
    explicit HealthWorkload(const Options &options) : options_(options), country_(shape_of(options.inputs)) {}
    std::string check() override {
        std::string complaint = country_.check_conservation(options_.inputs[1]);
        if (!complaint.empty()) return complaint;
        if (!expected_) expected_ = simulate_reference();
        const HealthTotals totals = country_.total();
        if (totals == *expected_) return "";
        return describe_health(totals) + "; the serial run had " + describe_health(*expected_) +
               (totals.fingerprint == expected_->fingerprint ? "" : ", and other patients");
    }
    std::optional<std::uint64_t> n_tasks() override {
        const bool manual = options_.cutoff == Cutoff::kManual;
        return count_health_tasks(country_.shape(), options_.inputs[1],
                                  manual ? options_.cuts[0] : country_.shape().levels);
    }
    std::optional<double> n_units() override { return country_.inhabitant_steps(options_.inputs[1]); }
    std::string describe_result() const override { return describe_health(country_.total()); }

protected:
    Options options_;
    Country country_;

private:
    HealthTotals simulate_reference() const {
        Country reference(country_.shape());
        reference.populate();
        for (std::int64_t step = 0; step < options_.inputs[1]; step++) simulate_serial(reference.root());
        return reference.total();
    }

    std::optional<HealthTotals> expected_;
};

} // namespace bots
