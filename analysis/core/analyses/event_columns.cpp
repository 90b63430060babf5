// SPDX-License-Identifier: Apache-2.0
// Decodes records without interpreting them. format.h defines the meaning of each field.
#include "event_columns.h"

#include <algorithm>

#include "events/decoder.h"

namespace ompass {

namespace {

class EventRows {
public:
    EventRows(const RunFiles &run, const EventFilter &filter, EventColumns &columns)
        : filter_(filter), columns_(columns), clock_(*run.process) {}

    bool full() const { return filter_.limit >= 0 && static_cast<int64_t>(columns_.kind.size()) >= filter_.limit; }
    bool lacks_latest_times() const { return untimed_ < columns_.kind.size(); }

    void begin_thread(uint32_t thread) {
        thread_ = thread;
        open_.clear();
        untimed_ = columns_.kind.size();
    }

    void add(const EventDecoder &decoder, const EventRecord &record) {
        time_ns_ = static_cast<int64_t>(clock_.since_start(record.time));
        Row row{record.kind, record.is_timed(), -1, record.id, 0};
        const char *fields = format::kEventTraits[record.kind].fields;
        set_field(fields[0], record.argument, row);
        for (unsigned word = 1; word < 3 && fields[word]; word++) set_field(fields[word], record.words[word], row);
        switch (record.kind) {
        case format::kInlineOps:
            decoder.unfold(
                record, [&](uint32_t begun) { return begin_undeferred({format::kInlineBegin, false, number(begun)}); },
                [&] { return end_undeferred({format::kInlineEnd}); });
            break;
        case format::kInlineBegin:
        case format::kInlineBeginTimed: begin_undeferred(row); break;
        case format::kInlineEndTimed: end_undeferred(row); break;
        default: push(row);
        }
        if (record.is_timed()) end_interval();
    }

    // Sets latest_ns of the untimed rows so far to the time of the last record.
    void end_interval() {
        for (; untimed_ < columns_.kind.size(); untimed_++)
            if (!columns_.exact[untimed_]) columns_.latest_ns[untimed_] = time_ns_;
    }

private:
    struct Row {
        format::EventKind kind;
        bool exact = false;
        int32_t construct = -1;
        uint64_t task = 0, value = 0;
    };

    static int32_t number(uint64_t construct) { return static_cast<int32_t>(construct); }

    // Stores a field of a record. `field`: its letter in format.h.
    void set_field(char field, uint64_t content, Row &row) {
        switch (field) {
        case 'c': row.construct = number(content); break;
        case 'i': row.task = content & format::kIdMask; break;
        case 'a': row.task = content; break;
        case 'v': row.value = content; break;
        case 't': row.value = clock_.ns(content); break;
        case 'h': row.value = clock_.ns(content >> 1); break;
        default: break;
        }
    }

    bool begin_undeferred(Row row) {
        open_.push_back(row.construct);
        return push(row);
    }
    bool end_undeferred(Row row) {
        if (!open_.empty()) {
            row.construct = open_.back();
            open_.pop_back();
        }
        return push(row);
    }

    bool push(const Row &row) {
        if (time_ns_ < filter_.start_ns || (filter_.end_ns >= 0 && time_ns_ >= filter_.end_ns) || full()) return true;
        columns_.push(time_ns_, time_ns_, thread_, row.kind, row.construct, row.task, row.value, row.exact);
        return true;
    }

    const EventFilter &filter_;
    EventColumns &columns_;
    RunClock clock_;
    uint32_t thread_ = 0;
    int64_t time_ns_ = 0;
    size_t untimed_ = 0;        // the first row whose latest time is not known yet
    std::vector<int32_t> open_; // constructs of the open undeferred tasks
};

// Returns the number of events in a record. A kInlineOps record may hold several begins and ends of undeferred tasks.
uint64_t events_in(const EventRecord &record) {
    if (record.kind != format::kInlineOps) return 1;
    uint64_t n = 0;
    while (n < format::kInlineOpsPerWord && format::inline_op(record.words[0], static_cast<unsigned>(n)) != 0) n++;
    return n;
}

} // namespace

Problem read_event_columns(const RunFiles &run, const EventFilter &filter, EventColumns &columns) {
    EventRows rows(run, filter, columns);
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (filter.thread >= 0 && static_cast<uint32_t>(filter.thread) != i) continue;
        EventDecoder decoder(run.threads[i], i);
        EventRecord record;
        rows.begin_thread(i);
        while ((!rows.full() || rows.lacks_latest_times()) && decoder.next(record)) rows.add(decoder, record);
        if (decoder.problem()) return decoder.problem();
        rows.end_interval();
    }
    return {};
}

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
