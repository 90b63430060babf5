// SPDX-License-Identifier: Apache-2.0
// Events as they were recorded, whatever they mean: as columns, packed records unfolded, and as numbers over time.
#pragma once

#include <cstdint>
#include <vector>

#include "format/describe.h"
#include "format/run_files.h"

namespace ompass {

// All of one length. kInlineOps are unfolded into inline_begin and inline_end; their construct is resolved.
#define OMPASS_EVENT_COLUMNS(X)                                                                                        \
    X(int64_t, time_ns, "since the start of the run; of untimed records that of the timed one before them")            \
    X(int64_t, latest_ns, "last possible moment: of untimed records that of the timed one after them")                 \
    X(uint32_t, thread, "number of the thread")                                                                        \
    X(uint8_t, kind, "index into event_kinds()")                                                                       \
    X(int32_t, construct, "number of the construct; -1: none")                                                         \
    X(uint64_t, task, "id: creating thread << 40 | its counter; 0: none")                                              \
    X(uint64_t, value, "what else the meaning of the kind names; durations in ns")                                     \
    X(bool, exact, "false for untimed records")

OMPASS_VECTORS(EventColumns, OMPASS_EVENT_COLUMNS);

struct EventFilter {
    int64_t thread = -1; // -1: all
    int64_t start_ns = 0;
    int64_t end_ns = -1; // -1: to the end
    int64_t limit = -1;  // -1: no limit
};

Problem read_event_columns(const RunFiles &run, const EventFilter &filter, EventColumns &columns);

// How many events the run has in each of equal parts of its time: no window holds more slices than events, so this tells
// which windows of a long trace are short enough to be exported. One quick pass that keeps nothing.
//
// Counts in `n_parts` (at least 1) parts of end_ns / n_parts + 1 nanoseconds from 0 on; what is later counts in the last.
// `threads`: only these (empty: all). Begins and ends of undeferred tasks count one by one. Safe to call from any thread.
Problem count_events(const RunFiles &run, const std::vector<uint32_t> &threads, uint64_t end_ns, size_t n_parts,
                     std::vector<uint64_t> &counts);

} // namespace ompass
