// SPDX-License-Identifier: Apache-2.0
// From words to records: walks the event extents of one thread's log, keeps its clock, counts its ids and unpacks its
// short forms. Knows the encoding of events (format.h) and nothing of what they mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "format/run_files.h"

namespace ompass {

using Kinds = uint64_t; // a set of kinds of events
template <typename... Kind>
constexpr Kinds kinds(Kind... kind) {
    return (Kinds{0} | ... | (Kinds{1} << kind));
}

struct EventRecord {
    format::EventKind kind{};
    uint32_t argument = 0;
    uint64_t time = 0;     // recorded ticks; of untimed records: of the timed record before
    uint64_t id = 0;       // of the task or region that the record makes; else 0
    uint64_t words[3] = {}; // the first word, as it is in the log, and those that follow

    // Creations are written with a time or without one, which seems that of the record before.
    bool is_timed() const {
        return format::kEventTraits[kind].timed && (kind != format::kCreate || format::event_delta(words[0]) != 0);
    }
};

class EventDecoder {
public:
    // A place in the log, between two records: enough to go on from there in another decoder of the same log. Holds no
    // pointer, so that it can be kept in a file.
    struct Bookmark {
        uint64_t extent, half; // extents begun, and of the last one the halves of words that are read
        uint64_t time, n_records, n_ids; // so far; ids that records have made
        uint64_t address; // of the last access
        uint64_t started; // the task that started last
        uint32_t codes[format::kInlineCodes];
        uint32_t n_codes;
    };

    EventDecoder(const ThreadFile &thread, uint32_t index)
        : thread_(thread), first_id_(static_cast<uint64_t>(index) << format::kThreadShift) {}

    // The next record; false at the end of the log or at a problem. A log ends at its first zero word. Definitions of
    // inline codes are kept, not handed out.
    [[gnu::always_inline]] bool next(EventRecord &record) {
        while (read_record(record)) {
            if (__builtin_expect(!(kShort >> record.kind & 1), 1)) {
                if (record.kind == format::kStart) unpack_start(record);
                record.id = kNumbered >> record.kind & 1 ? first_id_ | ++at_.n_ids : 0;
                return true;
            }
            if (record.kind == format::kInlineCode) {
                if (at_.n_codes == format::kInlineCodes) return fail("is damaged: too many inline codes");
                at_.codes[at_.n_codes++] = record.argument;
                continue;
            }
            if (record.kind == format::kAbsentNear)
                unpack_off_cpu(record);
            else
                unpack_access(record);
            return true;
        }
        return false;
    }

    Bookmark bookmark() const {
        Bookmark mark = at_;
        mark.half = static_cast<uint64_t>(place_ - begin_);
        return mark;
    }
    // False, and nothing changes: there is no such place.
    bool seek(const Bookmark &mark) {
        if (mark.extent > thread_.events.size() || mark.n_codes > format::kInlineCodes) return false;
        if (mark.half > (mark.extent ? 2 * thread_.events[mark.extent - 1].size() : 0)) return false;
        at_ = mark;
        begin_ = place_ = end_ = nullptr;
        offset_ = 0;
        if (mark.extent) enter_extent();
        place_ += mark.half;
        return true;
    }

    // The begins and ends in a record of the kind inline_ops: calls begin(construct) and end(), which return whether to
    // go on. False when they did not, or when a code stands for no construct.
    template <typename Begin, typename End>
    bool unfold(const EventRecord &record, Begin begin, End end) const {
        for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
            const unsigned op = format::inline_op(record.words[0], i);
            if (op == 0) return true;
            if (op == format::kInlineOpEnd) {
                if (!end()) return false;
            } else if (op - format::kInlineOpBegin >= at_.n_codes || !begin(at_.codes[op - format::kInlineOpBegin])) {
                return false;
            }
        }
        return true;
    }

    // What is wrong with the log; none at its end.
    Problem problem() const { return what_ ? Problem{thread_.file.path(), offset(), what_} : Problem{}; }
    uint64_t time() const { return at_.time; }
    uint64_t n_records() const { return at_.n_records; }
    uint64_t n_ids() const { return at_.n_ids; } // that records have made so far
    uint64_t offset() const { return offset_ + sizeof *place_ * static_cast<size_t>(place_ - begin_); } // in the file

private:
    static_assert(format::kEnd == 0 && format::kTime == 1);
    // Kinds whose record makes an id, and kinds of which the decoder keeps something.
    static constexpr Kinds kNumbered = kinds(format::kCreate, format::kImplicitBegin, format::kRegionBegin);
    static constexpr Kinds kShort = kinds(format::kInlineCode, format::kRead, format::kWrite, format::kReadNear,
                                          format::kWriteNear, format::kAbsentNear);

    static constexpr auto kForms = [] {
        std::array<format::RecordForm, format::kEventKinds> forms{};
        for (unsigned kind = 0; kind < format::kEventKinds; kind++)
            forms[kind] = format::record_form(static_cast<format::EventKind>(kind));
        return forms;
    }();

    // The extent that was begun last.
    void enter_extent() {
        const std::span<const uint64_t> words = thread_.events[at_.extent - 1];
        begin_ = place_ = reinterpret_cast<const uint32_t *>(words.data());
        end_ = begin_ + 2 * words.size();
        offset_ = thread_.event_offsets[at_.extent - 1];
    }
    static uint64_t word_at(const uint32_t *place) {
        uint64_t word;
        memcpy(&word, place, sizeof word);
        return word;
    }

    [[gnu::always_inline]] bool read_record(EventRecord &record) {
        for (;;) {
            if (end_ - place_ < 2) { // no record is in the last half alone
                if (at_.extent == thread_.events.size()) return false;
                at_.extent++;
                enter_extent();
                continue;
            }
            uint64_t word = word_at(place_);
            const auto kind = format::event_kind(word);
            if (__builtin_expect(kind <= format::kTime || kind >= format::kEventKinds, 0)) {
                if (kind >= format::kEventKinds) return fail("is damaged: unknown kind of event");
                if (kind == format::kTime && end_ - place_ >= 4) {
                    at_.time = word_at(place_ + 2);
                    place_ += 4;
                } else {
                    place_ = end_;
                }
                continue;
            }
            const format::RecordForm form = kForms[kind];
            if (__builtin_expect(end_ - place_ < form.halves, 0)) { // cut by the end of the file
                place_ = end_;
                continue;
            }
            if (form.halves == 1) word = static_cast<uint32_t>(word);
            at_.time += word >> 1 >> (form.delta_shift - 1);
            record.kind = static_cast<format::EventKind>(form.kind);
            record.argument = static_cast<uint32_t>(word >> 6) & ((1u << form.argument_bits) - 1);
            if (kind == format::kCompleteShort) record.argument = format::kStatusComplete;
            record.time = at_.time;
            record.words[0] = word;
            if (form.halves > 2) {
                record.words[1] = word_at(place_ + 2);
                if (form.halves > 4) record.words[2] = word_at(place_ + 4);
            }
            place_ += form.halves;
            at_.n_records++;
            return true;
        }
    }
    // Word 1, for every form of a start.
    void unpack_start(EventRecord &record) {
        const uint64_t word = record.words[0];
        switch (format::event_kind(word)) {
        case format::kStartShort:
            record.words[1] = (first_id_ + at_.n_ids - format::start_back(word)) & format::kIdMask;
            break;
        case format::kStartNear:
            record.words[1] =
                ((at_.started + format::start_distance(word)) & format::kIdMask) | format::start_moved(word);
            break;
        default: break;
        }
        at_.started = record.words[1] & format::kIdMask;
    }
    static void unpack_off_cpu(EventRecord &record) {
        const uint64_t word = record.words[0];
        record.kind = format::is_blocked_near(word) ? format::kBlocked : format::kPreempted;
        record.argument = format::is_guess_near(word);
        record.words[1] = record.time + format::absent_distance(word);
        record.words[2] = format::absent_ticks(word);
    }
    // Short forms of accesses are for the log alone: outside of it there are kRead and kWrite.
    void unpack_access(EventRecord &record) {
        if (record.kind == format::kRead || record.kind == format::kWrite) {
            at_.address = record.words[1];
            return;
        }
        const uint64_t word = record.words[0];
        at_.address += static_cast<uint64_t>(format::near_distance(word));
        record.words[1] = at_.address;
        record.words[2] = format::near_bytes(word);
        record.kind = record.kind == format::kReadNear ? format::kRead : format::kWrite;
    }
    bool fail(const char *what) {
        what_ = what;
        at_.extent = thread_.events.size();
        end_ = place_; // the offset stays that of the damage
        return false;
    }

    const ThreadFile &thread_;
    uint64_t first_id_;
    Bookmark at_{}; // but `half`, for which there is place_
    const uint32_t *begin_ = nullptr, *place_ = nullptr, *end_ = nullptr; // in the extent, halves of words
    uint64_t offset_ = 0; // of begin_ in the file
    const char *what_ = nullptr;
};

} // namespace ompass
