// SPDX-License-Identifier: Apache-2.0
//
// Driver: health simulation with tasks. Verified against the serial simulation, which runs once, after the first run.
#include "country.hpp"
#include "harness.hpp"
#include "health_tasks.hpp"
#include "inputs.hpp"

namespace {

class HealthTasks : public bots::Workload {
public:
    explicit HealthTasks(const bots::Options &options)
        : options_(options), country_(static_cast<int>(options.inputs[0])) {}
    void prepare() override { country_.populate(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::simulate_parallel<kKind>(country_.root(), options_.inputs[1], static_cast<int>(options_.cuts[0]),
                                           options_.n_threads);
        });
    }
    std::string check() override {
        std::string complaint = country_.check_conservation();
        if (!complaint.empty()) return complaint;
        if (!expected_) expected_ = simulate_reference();
        const bots::HealthTotals totals = country_.total();
        if (totals == *expected_) return "";
        return bots::describe_health(totals) + "; the serial run had " + bots::describe_health(*expected_) +
               (totals.fingerprint == expected_->fingerprint ? "" : ", and other patients");
    }
    std::optional<std::uint64_t> n_tasks() override {
        const bool manual = options_.cutoff == bots::Cutoff::kManual;
        return bots::count_health_tasks(country_.levels(), options_.inputs[1],
                                        manual ? options_.cuts[0] : country_.levels());
    }
    std::optional<double> n_units() override { return country_.inhabitant_steps(options_.inputs[1]); }
    std::string describe_result() const override { return bots::describe_health(country_.total()); }

private:
    bots::HealthTotals simulate_reference() const {
        bots::Country reference(country_.levels());
        reference.populate();
        for (std::int64_t step = 0; step < options_.inputs[1]; step++) bots::simulate_serial(reference.root());
        return reference.total();
    }

    bots::Options options_;
    bots::Country country_;
    std::optional<bots::HealthTotals> expected_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<HealthTasks>(argc, argv, bots::kHealth); }
