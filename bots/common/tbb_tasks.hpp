// SPDX-License-Identifier: Apache-2.0
// The counterpart of tasks.hpp for oneTBB: the tasks and the main function of the `tbb` versions. Their algorithms have
// the task group as a template parameter.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstddef>
#include <memory>

#include "harness.hpp"

namespace bots {

// A group of oneTBB tasks. Algorithms create no tasks where goes_serial is true: below a manual cut-off. oneTBB has no
// counterparts of the cut-offs if and final.
template <Cutoff kCutoff>
class TbbTaskGroup {
public:
    static constexpr bool goes_serial(bool below) { return kCutoff == Cutoff::kManual && below; }

    // Creates a task that calls a copy of body.
    template <class Body>
    void run(bool, Body body) {
        group_.run(body);
    }

    // Waits for all tasks of this group.
    void wait() { group_.wait(); }

private:
    oneapi::tbb::task_group group_;
};

// Calls visit.operator()<cutoff>(). The options choose the cut-off and the number of threads.
template <class Visitor>
void with_tbb_tasks(const Options &options, const Visitor &visit) {
    const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                              static_cast<std::size_t>(options.n_threads));
    oneapi::tbb::task_arena arena(options.n_threads); // may exceed the number of processors
    arena.execute([&] {
        if (options.cutoff == Cutoff::kManual)
            visit.template operator()<Cutoff::kManual>();
        else
            visit.template operator()<Cutoff::kNone>();
    });
}

// Implements main() of a version with oneTBB's tasks.
template <class TbbWorkload>
int tbb_main(int argc, char **argv, const ProgramSpec &spec) {
    const Version version = {.name = BOTS_VERSION,
                             .default_threads = oneapi::tbb::info::default_concurrency(),
                             .cutoffs = {Cutoff::kNone, Cutoff::kManual},
                             .has_untied = false};
    return run_version(argc, argv, spec, version,
                       [](const Options &options) { return std::make_unique<TbbWorkload>(options); });
}

} // namespace bots
