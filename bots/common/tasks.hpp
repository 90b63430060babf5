// SPDX-License-Identifier: Apache-2.0
// Creation of OpenMP tasks in the programs. The cut-off and the choice of tied or untied tasks are template parameters,
// so that they cost nothing at run time. In bots/common/, only this file, tasks.cpp, range_tasks.hpp and
// domain_range.hpp use OpenMP. tbb_tasks.hpp has TaskGroup and the main function for oneTBB.
#pragma once

#include <omp.h>

#include <memory>

#include "harness.hpp"

namespace bots {

// The kind of tasks that a recursive function creates; its template parameter.
struct TaskKind {
    Cutoff cutoff;
    bool untied;
};

// True if a function must call its serial counterpart instead of creating tasks. `below`: true if the call is below the
// cut-off.
template <TaskKind kKind>
constexpr bool goes_serial(bool below) {
    return kKind.cutoff == Cutoff::kManual && below;
}

#define BOTS_PRAGMA(...) _Pragma(#__VA_ARGS__)

// NOLINTBEGIN(bugprone-branch-clone): the branches differ in their pragmas
// Creates an explicit task that executes the last argument, a statement. `kind`: a constant TaskKind. `below`: true if
// the creating call is below the cut-off. `data`: the data-sharing and depend clauses. The macro repeats the
// statement once per kind; only the chosen copy is compiled, at the caller's line. parse_options refuses --untied with
// --cutoff if.
#define BOTS_TASK(kind, below, data, ...)                                                                              \
    do {                                                                                                               \
        if constexpr ((kind).cutoff == ::bots::Cutoff::kIf) {                                                          \
            BOTS_PRAGMA(omp task if (!(below)) data)                                                                   \
            __VA_ARGS__;                                                                                               \
        } else if constexpr ((kind).cutoff == ::bots::Cutoff::kFinal && (kind).untied) {                               \
            BOTS_PRAGMA(omp task untied final(below) mergeable data)                                                   \
            __VA_ARGS__;                                                                                               \
        } else if constexpr ((kind).cutoff == ::bots::Cutoff::kFinal) {                                                \
            BOTS_PRAGMA(omp task final(below) mergeable data)                                                          \
            __VA_ARGS__;                                                                                               \
        } else if constexpr ((kind).untied) {                                                                          \
            BOTS_PRAGMA(omp task untied data)                                                                          \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            BOTS_PRAGMA(omp task data)                                                                                 \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (false)
// NOLINTEND(bugprone-branch-clone)

// A group of explicit tasks, for algorithms whose task group is a template parameter. TbbTaskGroup and SerialGroup have
// the same interface. Only the task that makes a group uses it. `below`: as for BOTS_TASK.
template <TaskKind kKind>
class TaskGroup {
public:
    static constexpr bool goes_serial(bool below) { return bots::goes_serial<kKind>(below); }

    // Creates a task that calls a copy of body.
    template <class Body>
    void run(bool below, Body body) {
        BOTS_TASK(kKind, below, firstprivate(body), body());
    }

    // Waits for all children of the current task.
    void wait() {
#pragma omp taskwait
    }
};

// Calls visit.operator()<kind>() with the kind of tasks that the options choose. `kCutoffs`: the cut-offs of the
// program's specification, so that no others are compiled.
template <CutoffSet kCutoffs = kAllCutoffs, class Visitor>
void with_task_kind(const Options &options, const Visitor &visit) {
    const auto with_cutoff = [&]<Cutoff kCutoff>() {
        if constexpr (kCutoffs.has(kCutoff)) {
            if constexpr (kCutoff != Cutoff::kIf) {
                if (options.untied) return visit.template operator()<TaskKind{kCutoff, true}>();
            }
            return visit.template operator()<TaskKind{kCutoff, false}>();
        }
    };
    switch (options.cutoff) {
    case Cutoff::kNone: return with_cutoff.template operator()<Cutoff::kNone>();
    case Cutoff::kIf: return with_cutoff.template operator()<Cutoff::kIf>();
    case Cutoff::kFinal: return with_cutoff.template operator()<Cutoff::kFinal>();
    case Cutoff::kManual: return with_cutoff.template operator()<Cutoff::kManual>();
    }
}

// Implements main() of a version with OpenMP tasks. The build sets BOTS_VERSION to the version's name.
template <class TasksWorkload>
int tasks_main(int argc, char **argv, const ProgramSpec &spec) {
    return run_tasks_version(argc, argv, spec, BOTS_VERSION,
                             [](const Options &options) { return std::make_unique<TasksWorkload>(options); });
}

} // namespace bots
