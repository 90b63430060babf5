// SPDX-License-Identifier: Apache-2.0
// Unfolding of records into rows. The meaning of each field is told in format.h.
#include "event_columns.h"

#include "events/decoder.h"

namespace ompass {

namespace {

class Rows {
public:
    Rows(const RunFiles &run, const EventFilter &filter, EventColumns &columns)
        : filter_(filter), columns_(columns), clock_(*run.process) {}

    bool full() const { return filter_.limit >= 0 && static_cast<int64_t>(columns_.kind.size()) >= filter_.limit; }

    void begin_thread(uint32_t thread) {
        thread_ = thread;
        counter_ = 0;
        codes_.clear();
        open_.clear();
    }

    void add(const EventRecord &record) {
        time_ns_ = static_cast<int64_t>(clock_.since_start(record.time));
        const format::EventTraits &traits = format::kEventTraits[record.kind];
        int32_t construct = -1;
        uint64_t task = 0, value = 0;
        const auto argument = static_cast<int32_t>(record.argument);
        switch (record.kind) {
        case format::kInlineCode: codes_.push_back(record.argument); return;
        case format::kInlineOps: unfold(record.words[0]); return;
        case format::kCreate:
            construct = argument;
            task = next_id();
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
            task = next_id();
            break;
        case format::kImplicitBegin:
            task = next_id();
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
    }

private:
    uint64_t next_id() { return static_cast<uint64_t>(thread_) << format::kThreadShift | ++counter_; }

    void unfold(uint64_t word) {
        for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
            const unsigned op = format::inline_op(word, i);
            if (op == 0) return;
            if (op == format::kInlineOpEnd) {
                if (open_.empty()) continue;
                push(format::kInlineEnd, static_cast<int32_t>(open_.back()), 0, 0, false);
                open_.pop_back();
            } else {
                const unsigned code = op - format::kInlineOpBegin;
                open_.push_back(code < codes_.size() ? codes_[code] : 0);
                push(format::kInlineBegin, static_cast<int32_t>(open_.back()), 0, 0, false);
            }
        }
    }

    void push(format::EventKind kind, int32_t construct, uint64_t task, uint64_t value, bool exact) {
        if (time_ns_ < filter_.start_ns || (filter_.end_ns >= 0 && time_ns_ >= filter_.end_ns) || full()) return;
        columns_.time_ns.push_back(time_ns_);
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
    uint64_t counter_ = 0;
    int64_t time_ns_ = 0;
    std::vector<uint32_t> codes_;
    std::vector<uint32_t> open_; // constructs of the open undeferred tasks
};

} // namespace

Problem read_event_columns(const RunFiles &run, const EventFilter &filter, EventColumns &columns) {
    Rows rows(run, filter, columns);
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (filter.thread >= 0 && static_cast<uint32_t>(filter.thread) != i) continue;
        EventDecoder decoder(run.threads[i]);
        EventRecord record;
        rows.begin_thread(i);
        while (!rows.full() && decoder.next(record)) rows.add(record);
        if (decoder.problem()) return decoder.problem();
    }
    return {};
}

} // namespace ompass
