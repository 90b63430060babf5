// SPDX-License-Identifier: Apache-2.0
// Driver: fast multipole method with oneTBB's tasks.
#include "fmm_workload.hpp"
#include "inputs.hpp"
#include "tbb_tasks.hpp"

namespace {

class FmmTbb : public bots::FmmWorkload {
public:
    using FmmWorkload::FmmWorkload;
    void run() override {
        bots::with_tbb_tasks(
            options_, [this]<bots::Cutoff kCutoff>() { input_.fmm().evaluate<bots::TbbTaskGroup<kCutoff>>(grain_); });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tbb_main<FmmTbb>(argc, argv, bots::kFmm); }
