// SPDX-License-Identifier: Apache-2.0
// Driver: stream clustering with tasks. Verified against the serial clustering, which runs once, after the first
// run.
#include <functional>

#include "inputs.hpp"
#include "streamcluster_tasks.hpp"
#include "streamcluster_workload.hpp"

namespace {

class StreamclusterTasks : public bots::StreamclusterWorkload {
public:
    using StreamclusterWorkload::StreamclusterWorkload;
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            bots::TaskLoop<kKind> loop(options_.cuts[0]);
            const bots::PieceLoop piece_loop = std::ref(loop);
#pragma omp parallel num_threads(options_.n_threads)
#pragma omp single
            clustering_.run(piece_loop);
            n_tasks_ = loop.n_tasks();
        });
    }
    std::string check() override {
        if (!expected_) {
            expected_.emplace(stream_, range_);
            expected_->run(bots::serial_loop);
        }
        if (!(clustering_.centers() == expected_->centers()))
            return "the centers differ from the serial clustering's centers";
        return StreamclusterWorkload::check();
    }
    std::optional<std::uint64_t> n_tasks() override { return n_tasks_; }

private:
    std::optional<bots::StreamClustering> expected_;
    std::uint64_t n_tasks_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<StreamclusterTasks>(argc, argv, bots::kStreamcluster); }
