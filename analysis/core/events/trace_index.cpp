// SPDX-License-Identifier: Apache-2.0
#include "trace_index.h"

#include <algorithm>

#include "walker.h"

namespace ompass {

namespace {

// `end`: raised to the time of the last record.
template <typename Take>
Problem for_each_record(const RunFiles &run, uint64_t &end, Take take) {
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        EventDecoder decoder(run.threads[i], i);
        EventRecord record;
        auto take_one = take(i);
        while (decoder.next(record)) take_one(decoder, record);
        if (Problem problem = decoder.problem()) return problem;
        end = std::max(end, decoder.time());
    }
    return {};
}

} // namespace

Problem read_trace_index(const RunFiles &run, TraceIndex &index) {
    index.threads.resize(run.threads.size());
    index.end = run.process->end_ticks;
    return for_each_record(run, index.end, [&](uint32_t thread) {
        return [pass = FirstPass(run, index, thread)](const EventDecoder &decoder, const EventRecord &record) mutable {
            pass.take(decoder, record);
        };
    });
}

Problem read_regions(const RunFiles &run, RecordedRegions &regions) {
    uint64_t end = 0;
    return for_each_record(run, end, [&](uint32_t) {
        return [&](const EventDecoder &, const EventRecord &record) { FirstPass::note_region(record, regions); };
    });
}

Problem for_each_predecessor(const RunFiles &run, const std::function<void(uint64_t)> &visit) {
    uint64_t end = 0;
    return for_each_record(run, end, [&](uint32_t) {
        return [&](const EventDecoder &, const EventRecord &record) {
            if (const uint64_t task = predecessor_in(record)) visit(task);
        };
    });
}

Problem lacks_trace(const RunFiles &run) {
    const bool any = std::ranges::any_of(run.threads, [](const ThreadFile &thread) { return !thread.events.empty(); });
    if (any) return {};
    if (run.process->mode == format::Mode::kTrace)
        return {run.directory, 0, "has no trace: there was no room for a single event (disk full, or a size limit)"};
    return {run.directory, 0, "has no trace: it was recorded in profile mode (use --mode trace or OMPASS_MODE=trace)"};
}

} // namespace ompass
