// SPDX-License-Identifier: Apache-2.0
// From words to records: walks the event extents of one thread's log and keeps its clock. Knows the encoding of
// events (format.h) and nothing of what they mean.
#pragma once

#include <cstdint>

#include "format/run_files.h"

namespace ompass {

struct EventRecord {
    format::EventKind kind;
    uint32_t argument;
    uint64_t time;         // recorded ticks; of untimed records: of the timed record before
    const uint64_t *words; // the first word and those that follow; valid until the next record
};

class EventDecoder {
public:
    explicit EventDecoder(const ThreadFile &thread) : thread_(thread) {}

    // The next record; false at the end of the log or at a problem. A log ends at its first zero word.
    bool next(EventRecord &record) {
        for (;;) {
            if (place_ == end_ && !next_extent()) return false;
            const uint64_t word = *place_;
            const auto kind = format::event_kind(word);
            if (__builtin_expect(kind == format::kEnd, 0)) {
                place_ = end_;
                continue;
            }
            if (__builtin_expect(kind >= format::kEventKinds, 0)) return fail("is damaged: unknown kind of event");
            const format::EventTraits &traits = format::kEventTraits[kind];
            if (__builtin_expect(end_ - place_ < traits.words, 0)) {
                truncated_ = true;
                place_ = end_;
                continue;
            }
            if (kind == format::kTime) {
                time_ = place_[1];
                place_ += 2;
                continue;
            }
            if (traits.timed) time_ += format::event_delta(word);
            record = {kind, format::event_argument(word), time_, place_};
            if (kind == format::kReadNear || kind == format::kWriteNear)
                unpack_near(record);
            else if (kind == format::kRead || kind == format::kWrite)
                address_ = place_[1];
            place_ += traits.words;
            n_records_++;
            return true;
        }
    }

    const Problem &problem() const { return problem_; }
    bool truncated() const { return truncated_; } // a record was cut by the end of the file
    uint64_t time() const { return time_; }
    uint64_t n_records() const { return n_records_; }
    uint64_t offset() const { return reinterpret_cast<const char *>(place_) - thread_.file.bytes().data(); }

private:
    bool next_extent() {
        if (extent_ == thread_.events.size()) return false;
        place_ = thread_.events[extent_].data();
        end_ = place_ + thread_.events[extent_].size();
        extent_++;
        return true;
    }
    // Short forms of accesses are for the log alone: outside of it there are kRead and kWrite.
    void unpack_near(EventRecord &record) {
        const uint64_t word = record.words[0];
        address_ += static_cast<uint64_t>(format::near_distance(word));
        access_[1] = address_;
        access_[2] = format::near_bytes(word);
        record.kind = record.kind == format::kReadNear ? format::kRead : format::kWrite;
        record.words = access_;
    }
    bool fail(const char *what) {
        problem_ = {thread_.file.path(), offset(), what};
        place_ = end_;
        extent_ = thread_.events.size();
        return false;
    }

    const ThreadFile &thread_;
    size_t extent_ = 0;
    const uint64_t *place_ = nullptr;
    const uint64_t *end_ = nullptr;
    uint64_t time_ = 0;
    uint64_t n_records_ = 0;
    uint64_t address_ = 0; // of the last access
    uint64_t access_[3] = {}; // the words of the last access, if it had the short form
    bool truncated_ = false;
    Problem problem_;
};

} // namespace ompass
