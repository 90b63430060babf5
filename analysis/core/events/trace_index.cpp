// SPDX-License-Identifier: Apache-2.0
#include "trace_index.h"

#include <algorithm>

#include "format/refusals.h"
#include "run_all.h"
#include "walker.h"

namespace ompass {

Problem read_trace_index(const RunFiles &run, TraceIndex &index) {
    const size_t n_threads = run.threads.size();
    index.run = &run;
    index.created = ById<uint64_t>(run);
    index.doubt = ById<uint32_t>(run);
    index.end = run.process->end_ticks;
    std::vector<RecordedRegions> regions(n_threads);
    std::vector<uint64_t> ends(n_threads);
    std::vector<Problem> problems(n_threads);
    run_all(n_threads, usable_threads(), [&](size_t i) {
        EventDecoder decoder(run.threads[i], static_cast<uint32_t>(i));
        FirstPass pass(run, index.created.of_thread(i), index.doubt.of_thread(i), regions[i], index.creations);
        EventRecord record;
        for (const format::CheckpointPart &part : run.threads[i].checkpoint.parts())
            if (part.is_primary) // other primaries may have ended their regions before their own traces begin
                regions[i][part.id].add({.begin = part.begin, .construct = part.construct, .level = part.level});
        while (decoder.next(record)) pass.read(decoder, record);
        problems[i] = decoder.problem();
        ends[i] = decoder.time();
    });
    for (size_t i = 0; i < n_threads; i++) {
        if (problems[i]) return problems[i];
        index.end = std::max(index.end, ends[i]);
        for (const auto &[id, part] : regions[i]) index.regions[id].add(part);
    }
    return {};
}

Problem for_each_dependence(const RunFiles &run, const std::function<bool(uint64_t, uint64_t)> &visit) {
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        EventDecoder decoder(run.threads[i], i);
        EventRecord record;
        while (decoder.next(record))
            if (const Dependence pair = dependence_in(record); pair.before && !visit(pair.before, pair.after))
                return {};
        if (Problem problem = decoder.problem()) return problem;
    }
    return {};
}

Problem lacks_trace(const RunFiles &run) {
    const bool any = std::ranges::any_of(run.threads, [](const ThreadFile &thread) { return !thread.events.empty(); });
    if (any) return {};
    if (run.process->mode == format::Mode::kTrace)
        return {run.directory, 0,
                "has no trace: not a single event could be written (" +
                    (run.process->limit_reached == 1 ? std::string("OMPASS_LIMIT_MB")
                     : run.process->limit_reached == 3
                         ? std::string("the space of --keep-last, OMPASS_KEEP_LAST, was too small")
                         : refusal_text(run.process->first_refusal)) +
                    ")"};
    return {run.directory, 0, "has no trace: it was recorded in profile mode (use --mode trace or OMPASS_MODE=trace)"};
}

Problem lacks_begin(const RunFiles &run) {
    if (!run.window_begin) return {};
    return {run.directory, 0,
            "keeps only the last part of its trace (--keep-last); this analysis needs the whole trace"};
}

} // namespace ompass
