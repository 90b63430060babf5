// SPDX-License-Identifier: Apache-2.0
// Decodes, and knows of events only how many a record stands for.
#include "event_density.h"

#include <algorithm>

#include "events/decoder.h"

namespace ompass {

namespace {

uint64_t events_in(const EventRecord &record) {
    if (record.kind != format::kInlineOps) return 1;
    uint64_t n = 0;
    while (n < format::kInlineOpsPerWord && format::inline_op(record.words[0], static_cast<unsigned>(n)) != 0) n++;
    return n;
}

} // namespace

Problem count_events(const RunFiles &run, const std::vector<uint32_t> &threads, uint64_t end_ns, size_t n_parts,
                     std::vector<uint64_t> &counts) {
    counts.assign(n_parts, 0);
    const RunClock clock(*run.process);
    const uint64_t part_ns = end_ns / n_parts + 1;
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (!threads.empty() && std::ranges::find(threads, i) == threads.end()) continue;
        EventDecoder decoder(run.threads[i], i);
        EventRecord record;
        size_t part = 0;
        uint64_t before = 0;
        while (decoder.next(record)) {
            if (record.time != before)
                part = static_cast<size_t>(std::min<uint64_t>(clock.since_start(record.time) / part_ns, n_parts - 1));
            before = record.time;
            counts[part] += events_in(record);
        }
        if (decoder.problem()) return decoder.problem();
    }
    return {};
}

} // namespace ompass
