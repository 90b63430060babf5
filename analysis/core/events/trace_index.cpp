// SPDX-License-Identifier: Apache-2.0
#include "trace_index.h"

#include <algorithm>

namespace ompass {

void note_region(const EventRecord &record, RecordedRegions &regions) {
    if (record.kind == format::kRegionBegin) {
        RecordedRegion &region = regions[record.words[1]];
        region.begin = record.time;
        region.construct = record.argument;
        region.level = static_cast<uint32_t>(record.words[2]);
    } else if (record.kind == format::kRegionEnd) {
        RecordedRegion &region = regions[record.words[1]];
        region.end = record.time;
        region.last_arrival = record.words[2] >> 1;
        region.had_tasks = record.words[2] & 1;
    }
}

Problem read_trace_index(const RunFiles &run, TraceIndex &index) {
    index.created.resize(run.threads.size());
    for (size_t i = 0; i < run.threads.size(); i++) {
        EventDecoder decoder(run.threads[i]);
        EventRecord record;
        std::vector<uint64_t> &created = index.created[i];
        created.push_back(0); // counters begin at 1
        bool in_bracket = false; // the record before is a creation without a time of its own
        while (decoder.next(record)) {
            switch (record.kind) {
            case format::kCreate: created.push_back(record.time); break;
            case format::kCreateSpan:
            case format::kCreateSpanLong: // a bracketed creation has the time of its begin
                if (in_bracket)
                    created.back() =
                        record.time - (record.kind == format::kCreateSpan ? record.argument : record.words[1]);
                break;
            case format::kRegionBegin:
                created.push_back(0);
                note_region(record, index.regions);
                break;
            case format::kRegionEnd: note_region(record, index.regions); break;
            case format::kImplicitBegin: created.push_back(0); break;
            default: break;
            }
            in_bracket = record.kind == format::kCreate && format::event_delta(record.words[0]) == 0;
        }
        if (decoder.problem()) return decoder.problem();
        index.end = std::max(index.end, decoder.time());
    }
    return {};
}

} // namespace ompass
