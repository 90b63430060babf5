// SPDX-License-Identifier: Apache-2.0
// Unfolding of records into rows. The meaning of each field is told in format.h.
#include "event_columns.h"

#include "events/decoder.h"

namespace ompass {

namespace {

class EventRows {
public:
    EventRows(const RunFiles &run, const EventFilter &filter, EventColumns &columns)
        : filter_(filter), columns_(columns), clock_(*run.process) {}

    bool full() const { return filter_.limit >= 0 && static_cast<int64_t>(columns_.kind.size()) >= filter_.limit; }

    void begin_thread(uint32_t thread) {
        thread_ = thread;
        open_.clear();
        untimed_ = columns_.kind.size();
    }

    void add(const EventDecoder &decoder, const EventRecord &record) {
        time_ns_ = static_cast<int64_t>(clock_.since_start(record.time));
        const format::EventTraits &traits = format::kEventTraits[record.kind];
        int32_t construct = -1;
        uint64_t task = 0, value = 0;
        const auto argument = static_cast<int32_t>(record.argument);
        switch (record.kind) {
        case format::kInlineOps:
            decoder.unfold(
                record,
                [&](uint32_t begun) {
                    open_.push_back(begun);
                    push(format::kInlineBegin, static_cast<int32_t>(begun), 0, 0, false);
                    return true;
                },
                [&] {
                    if (open_.empty()) return true;
                    push(format::kInlineEnd, static_cast<int32_t>(open_.back()), 0, 0, false);
                    open_.pop_back();
                    return true;
                });
            return;
        case format::kCreate:
            construct = argument;
            task = record.id;
            break;
        case format::kInlineBegin:
        case format::kInlineBeginTimed:
            construct = argument;
            open_.push_back(record.argument);
            break;
        case format::kInlineEnd:
        case format::kInlineEndTimed:
            if (!open_.empty()) construct = static_cast<int32_t>(open_.back()), open_.pop_back();
            break;
        case format::kStart:
        case format::kStartReady:
        case format::kResume:
        case format::kDiscard:
        case format::kFulfill:
            construct = argument;
            task = record.words[1] & format::kIdMask;
            if (traits.words == 3)
                value = clock_.ns(record.kind == format::kResume ? record.words[2] >> 1 : record.words[2]);
            break;
        case format::kCreateSpan: value = clock_.ns(record.argument); break;
        case format::kCreateSpanLong: value = clock_.ns(record.words[1]); break;
        case format::kBarrierEnd: value = clock_.ns(record.words[1] >> 1); break;
        case format::kRegionEnd:
            task = record.words[1];
            value = record.argument;
            break;
        case format::kRegionBegin:
            construct = argument;
            task = record.id;
            break;
        case format::kImplicitBegin:
            task = record.id;
            value = record.words[1];
            break;
        case format::kCompleteTo:
        case format::kDependence:
            task = record.words[1];
            value = traits.words == 3 ? record.words[2] : record.argument;
            break;
        case format::kKernelBegin:
        case format::kKernelEnd:
        case format::kPhase: construct = argument; break;
        case format::kRead:
        case format::kWrite:
            task = record.words[1]; // the address
            value = record.words[2];
            break;
        default: value = traits.words > 1 ? record.words[traits.words - 1] : record.argument;
        }
        push(record.kind, construct, task, value, traits.timed);
        if (traits.timed) end_interval();
    }
    bool in_doubt() const { return untimed_ < columns_.kind.size(); } // of the last possible moment of some rows

    // Untimed rows so far happened no later than the last time that is known.
    void end_interval() {
        for (; untimed_ < columns_.kind.size(); untimed_++)
            if (!columns_.exact[untimed_]) columns_.latest_ns[untimed_] = time_ns_;
    }

private:
    void push(format::EventKind kind, int32_t construct, uint64_t task, uint64_t value, bool exact) {
        if (time_ns_ < filter_.start_ns || (filter_.end_ns >= 0 && time_ns_ >= filter_.end_ns) || full()) return;
        columns_.time_ns.push_back(time_ns_);
        columns_.latest_ns.push_back(time_ns_);
        columns_.thread.push_back(thread_);
        columns_.kind.push_back(kind);
        columns_.construct.push_back(construct);
        columns_.task.push_back(task);
        columns_.value.push_back(value);
        columns_.exact.push_back(exact);
    }

    const EventFilter &filter_;
    EventColumns &columns_;
    RunClock clock_;
    uint32_t thread_ = 0;
    int64_t time_ns_ = 0;
    size_t untimed_ = 0; // the first row whose latest time is still to come
    std::vector<uint32_t> open_; // constructs of the open undeferred tasks
};

} // namespace

Problem read_event_columns(const RunFiles &run, const EventFilter &filter, EventColumns &columns) {
    EventRows rows(run, filter, columns);
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (filter.thread >= 0 && static_cast<uint32_t>(filter.thread) != i) continue;
        EventDecoder decoder(run.threads[i], i);
        EventRecord record;
        rows.begin_thread(i);
        while ((!rows.full() || rows.in_doubt()) && decoder.next(record)) rows.add(decoder, record);
        if (decoder.problem()) return decoder.problem();
        rows.end_interval();
    }
    return {};
}

} // namespace ompass
