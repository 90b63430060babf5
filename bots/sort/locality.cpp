// SPDX-License-Identifier: Apache-2.0
//
// Driver: Cilksort with tasks that are placed: a part of the array is filled and sorted in one domain. Merges read from
// elsewhere, as a sort cannot but do.
#include "domain_range.hpp"
#include "inputs.hpp"
#include "sort_tasks.hpp"
#include "sort_workload.hpp"

namespace {

class SortLocality : public bots::SortTasksWorkload {
public:
    using SortTasksWorkload::SortTasksWorkload;
    void prepare() override {
        input_.begin_filling();
        bots::on_domains(options_.n_threads, [this](const auto &owns) {
            bots::for_domain_parts(0, input_.size(), bots::DomainRange(),
                                   [&](std::size_t first, std::size_t last, int domain) {
                                       if (owns(domain)) input_.fill(first, last);
                                   });
        });
    }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            n_tasks_ = bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(),
                                                  bots::SortCuts{static_cast<std::size_t>(options_.cuts[0])},
                                                  options_.n_threads, bots::DomainRange());
        });
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SortLocality>(argc, argv, bots::kSort); }
