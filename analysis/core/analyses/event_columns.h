// SPDX-License-Identifier: Apache-2.0
// Events as columns, packed records unfolded: for dump, exports and later analyses.
#pragma once

#include <cstdint>
#include <vector>

#include "format/run_files.h"

namespace ompass {

// All of one length. kInlineOps are unfolded into inline_begin and inline_end; their construct is resolved.
struct EventColumns {
    std::vector<int64_t> time_ns;   // since the start of the run; of untimed records: of the timed one before
    std::vector<int64_t> latest_ns; // the last possible moment: of untimed records, that of the timed one after
    std::vector<uint32_t> thread;
    std::vector<uint8_t> kind;      // format::EventKind
    std::vector<int32_t> construct; // -1: none
    std::vector<uint64_t> task;     // 0: none, or undeferred
    std::vector<uint64_t>
        value;    // what the meaning of the kind tells besides; durations in ns; regions and other tasks as ids
    std::vector<uint8_t> exact;     // 0: untimed
};

struct EventFilter {
    int64_t thread = -1; // -1: all
    int64_t start_ns = 0;
    int64_t end_ns = -1; // -1: to the end
    int64_t limit = -1;  // -1: no limit
};

Problem read_event_columns(const RunFiles &run, const EventFilter &filter, EventColumns &columns);

} // namespace ompass
