// SPDX-License-Identifier: Apache-2.0
// Reads recorded events as columns, with packed records unfolded, and counts events over time. Does not interpret them.
#pragma once

#include <cstdint>
#include <vector>

#include "format/describe.h"
#include "format/run_files.h"

namespace ompass {

// Columns of equal length. A kInlineOps record becomes its inline_begin and inline_end events, with their construct.
#define OMPASS_EVENT_COLUMNS(X)                                                                                        \
    X(int64_t, time_ns, "since the start of the run; untimed records have the time of the timed one before them")      \
    X(int64_t, latest_ns, "last possible time; untimed records have the time of the timed one after them")             \
    X(uint32_t, thread, "number of the thread")                                                                        \
    X(uint8_t, kind, "index into event_kinds()")                                                                       \
    X(int32_t, construct, "number of the construct; -1: none")                                                         \
    X(uint64_t, task, "id: creating thread << 40 | its counter; 0: none")                                              \
    X(uint64_t, value, "other content, as event_kinds() names it; durations in ns")                                    \
    X(bool, exact, "false for untimed records")

OMPASS_VECTORS(EventColumns, OMPASS_EVENT_COLUMNS);

struct EventFilter {
    int64_t thread = -1; // -1: all
    int64_t start_ns = 0;
    int64_t end_ns = -1; // -1: to the end
    int64_t limit = -1; // -1: no limit
};

Problem read_event_columns(const RunFiles &run, const EventFilter &filter, EventColumns &columns);

// Counts the events of `threads` (empty: all) in `n_parts` (at least 1) parts of end_ns / n_parts + 1 nanoseconds. The
// last part includes all later events. Counts each begin and end of an undeferred task. A window has at most about as
// many slices as events, so the counts bound the size of exports. Callable from any thread.
Problem count_events(const RunFiles &run, const std::vector<uint32_t> &threads, uint64_t end_ns, size_t n_parts,
                     std::vector<uint64_t> &counts);

} // namespace ompass
