// SPDX-License-Identifier: Apache-2.0
// Driver: bit counting with tasks.
#include "bitcounter_tasks.hpp"
#include "harness.hpp"
#include "inputs.hpp"

namespace {

class BitcounterTasks : public bots::Workload {
public:
    explicit BitcounterTasks(const bots::Options &options)
        : options_(options), rounds_(options.inputs[2]), vectors_(options.inputs[0], options.inputs[1]) {}
    void prepare() override { vectors_.clear_counts(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::count_parallel<kKind>(vectors_, rounds_, options_.cuts[0], options_.n_threads);
        });
    }
    std::string check() override { return vectors_.check(rounds_); }
    std::optional<std::uint64_t> n_tasks() override {
        return bots::count_bitcounter_tasks(vectors_.size(), rounds_, options_.cuts[0], options_.cutoff);
    }
    std::optional<double> n_units() override {
        return static_cast<double>(vectors_.n_words()) * static_cast<double>(rounds_);
    }
    std::string describe_result() const override { return vectors_.describe(); }

private:
    bots::Options options_;
    std::int64_t rounds_;
    bots::BitVectors vectors_;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<BitcounterTasks>(argc, argv, bots::kBitcounter); }
