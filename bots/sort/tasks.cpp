// SPDX-License-Identifier: Apache-2.0
//
// Driver: Cilksort with tasks.
#include "harness.hpp"
#include "sort_tasks.hpp"

namespace {

class SortTasks : public bots::Workload {
public:
    explicit SortTasks(const bots::Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.size)) {}
    void prepare() override { input_.fill(); }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            n_tasks_ = bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(),
                                                  static_cast<std::size_t>(options_.cut), options_.n_threads);
        });
    }
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override { return n_tasks_; }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::Options options_;
    bots::SortInput input_;
    std::uint64_t n_tasks_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    return bots::tasks_main(argc, argv, bots::kSort, BOTS_VERSION, omp_get_max_threads(),
                            [](const bots::Options &options) { return std::make_unique<SortTasks>(options); });
}
