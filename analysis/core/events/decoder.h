// SPDX-License-Identifier: Apache-2.0
// From words to records: walks the event extents of one thread's log, keeps its clock, counts its ids and unpacks its
// short forms. Knows the encoding of events (format.h) and nothing of what they mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "format/run_files.h"

namespace ompass {

struct EventRecord {
    format::EventKind kind{};
    uint32_t argument = 0;
    uint64_t time = 0;     // recorded ticks; of untimed records: of the timed record before
    uint64_t id = 0;       // of the task or region that the record makes; else 0
    const uint64_t *words = nullptr; // the first word and those that follow; valid until the next record

    // Creations are written with a time or without one, which seems that of the record before.
    bool is_timed() const {
        return format::kEventTraits[kind].timed && (kind != format::kCreate || format::event_delta(words[0]) != 0);
    }
};

class EventDecoder {
    struct Position {
        size_t extent = 0; // the next one
        const uint64_t *place = nullptr, *end = nullptr;
        uint64_t time = 0;
        uint64_t n_records = 0;
    };

public:
    // A place in the log, between two records: enough to go on from there in another decoder of the same log. Holds no
    // pointer, so that it can be kept in a file.
    struct Bookmark {
        uint64_t extent, word; // extents begun, and words of the last one that are read
        uint64_t time, n_records, n_ids, address;
        uint32_t codes[format::kInlineCodes];
        uint32_t n_codes;
    };

    EventDecoder(const ThreadFile &thread, uint32_t index)
        : thread_(thread), first_id_(static_cast<uint64_t>(index) << format::kThreadShift) {}

    // The next record; false at the end of the log or at a problem. A log ends at its first zero word. Definitions of
    // inline codes are kept, not handed out.
    [[gnu::always_inline]] bool next(EventRecord &record) {
        while (take(at_, record, what_)) {
            if (__builtin_expect(!(kShort >> record.kind & 1), 1)) {
                record.id = kNumbered >> record.kind & 1 ? first_id_ | ++n_ids_ : 0;
                return true;
            }
            if (record.kind == format::kInlineCode) {
                if (n_codes_ == format::kInlineCodes) return fail("is damaged: too many inline codes");
                codes_[n_codes_++] = record.argument;
                continue;
            }
            unpack_access(record);
            return true;
        }
        return what_ ? fail(what_) : false;
    }

    Bookmark bookmark() const {
        Bookmark mark{at_.extent, 0, at_.time, at_.n_records, n_ids_, address_, {}, n_codes_};
        if (at_.extent) mark.word = static_cast<uint64_t>(at_.place - thread_.events[at_.extent - 1].data());
        std::copy_n(codes_, n_codes_, mark.codes);
        return mark;
    }
    // False, and nothing changes: there is no such place.
    bool go_to(const Bookmark &mark) {
        if (mark.extent > thread_.events.size() || mark.n_codes > format::kInlineCodes) return false;
        Position at{mark.extent, nullptr, nullptr, mark.time, mark.n_records};
        if (mark.extent) {
            const std::span<const uint64_t> words = thread_.events[mark.extent - 1];
            if (mark.word > words.size()) return false;
            at.place = words.data() + mark.word;
            at.end = words.data() + words.size();
        }
        at_ = at;
        n_ids_ = mark.n_ids;
        address_ = mark.address;
        n_codes_ = mark.n_codes;
        std::copy_n(mark.codes, n_codes_, codes_);
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
            } else if (op - format::kInlineOpBegin >= n_codes_ || !begin(codes_[op - format::kInlineOpBegin])) {
                return false;
            }
        }
        return true;
    }

    // A look at the records that follow, without moving: raw ones, neither numbered nor unpacked.
    class Ahead {
    public:
        explicit Ahead(const EventDecoder &decoder) : decoder_(decoder), at_(decoder.at_) {}
        bool next(EventRecord &record) {
            const char *what = nullptr;
            return decoder_.take(at_, record, what);
        }
        uint64_t n_records() const { return at_.n_records; }

    private:
        const EventDecoder &decoder_;
        Position at_;
    };

    // What is wrong with the log; none at its end.
    Problem problem() const { return what_ ? Problem{thread_.file.path(), offset(), what_} : Problem{}; }
    uint64_t time() const { return at_.time; }
    uint64_t n_records() const { return at_.n_records; }
    uint64_t n_ids() const { return n_ids_; } // that records have made so far
    uint64_t offset() const { return reinterpret_cast<const char *>(at_.place) - thread_.file.bytes().data(); }

private:
    static_assert(format::kEnd == 0 && format::kTime == 1);
    // Kinds whose record makes an id, and kinds of which the decoder keeps something.
    static constexpr uint64_t kNumbered =
        uint64_t{1} << format::kCreate | uint64_t{1} << format::kImplicitBegin | uint64_t{1} << format::kRegionBegin;
    static constexpr uint64_t kShort = uint64_t{1} << format::kInlineCode | uint64_t{1} << format::kRead |
                                       uint64_t{1} << format::kWrite | uint64_t{1} << format::kReadNear |
                                       uint64_t{1} << format::kWriteNear;

    // Of kEventTraits, at hand in one line of the cache.
    static constexpr auto kWords = [] {
        std::array<uint8_t, format::kEventKinds> words{};
        for (unsigned kind = 0; kind < format::kEventKinds; kind++) words[kind] = format::kEventTraits[kind].words;
        return words;
    }();
    static constexpr uint64_t kTimed = [] {
        uint64_t set = 0;
        for (unsigned kind = 0; kind < format::kEventKinds; kind++)
            set |= uint64_t{format::kEventTraits[kind].timed} << kind;
        return set;
    }();

    [[gnu::always_inline]] bool take(Position &at, EventRecord &record, const char *&what) const {
        for (;;) {
            if (at.place == at.end) {
                if (at.extent == thread_.events.size()) return false;
                at.place = thread_.events[at.extent].data();
                at.end = at.place + thread_.events[at.extent].size();
                at.extent++;
                continue;
            }
            const uint64_t word = *at.place;
            const auto kind = format::event_kind(word);
            if (__builtin_expect(kind <= format::kTime || kind >= format::kEventKinds, 0)) {
                if (kind >= format::kEventKinds) {
                    what = "is damaged: unknown kind of event";
                    return false;
                }
                if (kind == format::kTime && at.end - at.place > 1) {
                    at.time = at.place[1];
                    at.place += 2;
                } else {
                    at.place = at.end;
                }
                continue;
            }
            const unsigned n_words = kWords[kind];
            if (__builtin_expect(at.end - at.place < n_words, 0)) { // cut by the end of the file
                at.place = at.end;
                continue;
            }
            at.time += format::event_delta(word) & -(kTimed >> kind & 1);
            record.kind = kind;
            record.argument = format::event_argument(word);
            record.time = at.time;
            record.words = at.place;
            at.place += n_words;
            at.n_records++;
            return true;
        }
    }
    // Short forms of accesses are for the log alone: outside of it there are kRead and kWrite.
    void unpack_access(EventRecord &record) {
        if (record.kind == format::kRead || record.kind == format::kWrite) {
            address_ = record.words[1];
            return;
        }
        const uint64_t word = record.words[0];
        address_ += static_cast<uint64_t>(format::near_distance(word));
        access_[1] = address_;
        access_[2] = format::near_bytes(word);
        record.kind = record.kind == format::kReadNear ? format::kRead : format::kWrite;
        record.words = access_;
    }
    bool fail(const char *what) {
        what_ = what;
        at_.extent = thread_.events.size();
        if (at_.place != at_.end) at_.end = at_.place; // the offset stays that of the damage
        return false;
    }

    const ThreadFile &thread_;
    uint64_t first_id_, n_ids_ = 0;
    Position at_;
    uint64_t address_ = 0; // of the last access
    uint64_t access_[3] = {}; // the words of the last access, if it had the short form
    uint32_t codes_[format::kInlineCodes] = {};
    unsigned n_codes_ = 0;
    const char *what_ = nullptr;
};

} // namespace ompass
