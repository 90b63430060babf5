// SPDX-License-Identifier: Apache-2.0
// Driver: connected components with tasks.
#include "concom_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class ConcomTasks : public bots::Workload {
public:
    explicit ConcomTasks(const bots::Options &options)
        : options_(options), input_(options.inputs[0], options.inputs[1]) {}
    void prepare() override { input_.forget(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::ComponentSearch<kKind> search(input_.graph(), input_.components(), options_.cuts[0]);
            n_components_ = search.label_all(options_.n_threads);
        });
    }
    std::string check() override { return input_.check(n_components_); }
    // Repeats the search serially, outside of the measurement.
    std::optional<std::uint64_t> n_tasks() override {
        input_.forget();
        return bots::count_concom_tasks(input_.graph(), input_.components(), options_.cuts[0], options_.cutoff);
    }
    std::optional<double> n_units() override { return static_cast<double>(input_.graph().n_arcs()); }
    std::string describe_result() const override { return input_.describe(n_components_); }

private:
    bots::Options options_;
    bots::ConcomInput input_;
    std::uint32_t n_components_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<ConcomTasks>(argc, argv, bots::kConcom); }
