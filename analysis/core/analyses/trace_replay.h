// SPDX-License-Identifier: Apache-2.0
// The account of a run recomputed from its events alone, by the rules of the tool, independently written:
// to check the account that the tool kept, and to survive its loss. What the events mean is events/walker.h's.
#pragma once

#include "format/run_profile.h"

namespace ompass {

// Hears of what only an account knows, thread by thread; it sees what it overrides. All times in ticks. `task` is the id
// of the deferred task that the thread is in, 0 in implicit tasks and outside of regions, and so is `parent`.
class ReplayObserver {
public:
    struct TaskRun {
        uint32_t thread; // where it ended
        uint32_t construct;
        uint64_t task; // 0: undeferred
        uint64_t parent; // of undeferred tasks; read_parents() knows that of deferred ones
        uint64_t created, created_latest, ready, start, end; // all 0 when not timed
        uint64_t worked; // with its undeferred descendants
        bool timed;
    };

    virtual ~ReplayObserver() = default;
    // An explicit task has completed. Those that went on elsewhere after they were suspended come last.
    virtual void completed(const TaskRun &) {}
};

// A part of the run, in nanoseconds since its start. Times are cut off at it, to the tick; events count in it, and so
// tasks, waits and kernels count where they end.
struct ReplayWindow {
    uint64_t start_ns = 0, end_ns = ~uint64_t{0};
};

// Fills one account per thread of the run. A problem names file and byte; a run without events is one. An observer hears
// of the whole run, and takes no window.
Problem replay_trace(const RunFiles &run, std::vector<ThreadAccount> &accounts, ReplayObserver *observer = nullptr,
                     ReplayWindow window = {});

// Who created each deferred task: ids by thread and counter of its id, 0 where it was an implicit task or the program.
Problem read_parents(const RunFiles &run, std::vector<std::vector<uint64_t>> &parents);

} // namespace ompass
