// SPDX-License-Identifier: Apache-2.0
// Driver: Cilksort with placed tasks: each part of the array is filled and sorted in one domain. Merges also read from
// other domains, which no sort can avoid.
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
        bots::on_domains(options_.n_threads,
                         [this](const auto &owns) { fill_owned(0, input_.size(), bots::DomainRange(), owns); });
    }
    void run() override {
        bots::with_task_kind(options_, [this]<bots::TaskKind kKind>() {
            n_tasks_ = bots::sort_parallel<kKind>(input_.data(), input_.scratch(), input_.size(),
                                                  bots::SortCuts{static_cast<std::size_t>(options_.cuts[0])},
                                                  options_.n_threads, bots::DomainRange());
        });
    }

private:
    // Fills the parts of [first, first + n) whose domains the calling thread owns. Divides the range into quarters, as
    // sort_tasks does.
    template <class Owns>
    void fill_owned(std::size_t first, std::size_t n, const bots::DomainRange &domains, const Owns &owns) {
        if (domains.is_one()) {
            if (owns(domains.first())) input_.fill(first, first + n);
            return;
        }
        const std::size_t quarter = n / 4;
        for (std::size_t i = 0; i < 4; i++)
            fill_owned(first + i * quarter, i < 3 ? quarter : n - 3 * quarter, domains.part(i, 4), owns);
    }
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SortLocality>(argc, argv, bots::kSort); }
