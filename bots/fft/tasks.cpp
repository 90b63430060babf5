// SPDX-License-Identifier: Apache-2.0
// Driver: Fourier transform with tasks.
#include "fft_input.hpp"
#include "fft_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class FftParallel : public bots::Workload {
public:
    explicit FftParallel(const bots::Options &options) : options_(options), input_(options.inputs[0]) {}
    void prepare() override { input_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::FftTasks<kKind> tasks(input_.roots(), grain());
            tasks.transform_parallel(input_.data(), input_.scratch(), input_.size(), options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_fft_tasks(input_.size(), grain(), options_.cutoff);
    }
    std::optional<double> n_units() override { return input_.n_operations(); }
    std::string describe_result() const override { return input_.describe(); }

private:
    std::size_t grain() const { return static_cast<std::size_t>(options_.cuts[0]); }

    bots::Options options_;
    bots::FftInput input_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<FftParallel>(argc, argv, bots::kFft); }
