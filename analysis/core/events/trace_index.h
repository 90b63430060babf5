// SPDX-License-Identifier: Apache-2.0
// What the events of one thread say of the others: when tasks were created, when regions began and ended.
#pragma once

#include <unordered_map>
#include <vector>

#include "decoder.h"

namespace ompass {

struct RecordedRegion {
    uint64_t begin = 0, end = 0, last_arrival = 0; // ticks; 0: not known
    uint32_t construct = 0, level = 1;
    bool had_tasks = false;
};
using RecordedRegions = std::unordered_map<uint64_t, RecordedRegion>; // by id

// Takes notice of the record if it begins or ends a region.
void note_region(const EventRecord &record, RecordedRegions &regions);

// Memory: eight bytes per deferred task, and some hundred per region.
struct TraceIndex {
    std::vector<std::vector<uint64_t>> created; // by thread and counter of the id; 0: not a task, or not seen
    RecordedRegions regions;
    uint64_t end = 0; // the last event

    // 0 when not known.
    uint64_t created_at(uint64_t id) const {
        const uint64_t thread = id >> format::kThreadShift, counter = id & ((1ull << format::kThreadShift) - 1);
        return thread < created.size() && counter < created[thread].size() ? created[thread][counter] : 0;
    }

    const RecordedRegion &region(uint64_t id) const {
        static const RecordedRegion unknown;
        const auto found = regions.find(id);
        return found == regions.end() ? unknown : found->second;
    }
};

Problem read_trace_index(const RunFiles &run, TraceIndex &index);

} // namespace ompass
