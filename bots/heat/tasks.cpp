// SPDX-License-Identifier: Apache-2.0
// Driver: diffusion of heat with tasks.
#include "anywhere.hpp"
#include "heat_workload.hpp"
#include "inputs.hpp"

namespace {

class HeatTasks : public bots::HeatWorkload<bots::Anywhere> {
public:
    using HeatWorkload::HeatWorkload;
    // All threads initialize the plate, which spreads it over the memory nodes. It is unknown which rows the tasks of a
    // thread will sweep.
    void prepare() override {
#pragma omp parallel for num_threads(options_.n_threads)
        for (std::size_t row = 1; row <= plate_.n(); row++) plate_.initialize(row, row + 1);
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<HeatTasks>(argc, argv, bots::kHeat); }
