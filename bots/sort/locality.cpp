// SPDX-License-Identifier: Apache-2.0
//
// Driver: Cilksort with tasks that are placed: a part of the array is filled and sorted in one domain. Merges read from
// elsewhere, as a sort cannot but do.
#include "domain_range.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "sort_tasks.hpp"

namespace {

class SortLocality : public bots::Workload {
public:
    explicit SortLocality(const bots::Options &options)
        : options_(options), input_(static_cast<std::size_t>(options.inputs[0])) {}
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
    std::string check() override { return input_.check(); }
    std::optional<std::uint64_t> n_tasks() override { return n_tasks_; }
    std::optional<double> n_units() override { return static_cast<double>(input_.size()); }
    std::string describe_result() const override { return input_.describe(); }

private:
    bots::Options options_;
    bots::SortInput input_;
    std::uint64_t n_tasks_ = 0;
};

} // namespace

int main(int argc, char **argv) { return bots::tasks_main<SortLocality>(argc, argv, bots::kSort); }
