// SPDX-License-Identifier: Apache-2.0
// Driver: matrix multiplication with oneTBB's tasks.
#include "inputs.hpp"
#include "matmul_workload.hpp"
#include "tbb_tasks.hpp"

namespace {

class MatmulTbb : public bots::MatmulWorkload {
public:
    using MatmulWorkload::MatmulWorkload;
    void run() override {
        bots::with_tbb_tasks(options_, [this]<bots::Cutoff kCutoff>() {
            bots::multiply_tasks<bots::TbbTaskGroup<kCutoff>>(input_.product(), grain_);
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tbb_main<MatmulTbb>(argc, argv, bots::kMatmul); }
