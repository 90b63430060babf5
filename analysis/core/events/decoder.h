// SPDX-License-Identifier: Apache-2.0
// Decodes the records of one thread's log: reads its event extents, keeps its clock, counts its ids and unpacks its
// short forms. This file knows the encoding of events (format.h), and leaves their meaning to walker.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "format/run_files.h"

namespace ompass {

using Kinds = uint64_t; // set of kinds of events
template <typename... Kind>
constexpr Kinds kinds(Kind... kind) {
    return (Kinds{0} | ... | (Kinds{1} << kind));
}

struct EventRecord {
    format::EventKind kind{};
    uint32_t argument = 0;
    uint64_t time = 0; // ticks; an untimed record has the time of the last timed one
    uint64_t id = 0; // id that the record gives to a task or region; else 0
    uint64_t words[3] = {}; // first word, as in the log, and the words that follow

    // Creations have a time only if their delta is not 0.
    bool is_timed() const {
        return format::kEventTraits[kind].timed && (kind != format::kCreate || format::event_delta(words[0]) != 0);
    }
};

class EventDecoder {
public:
    // The state of a decoder between two records. Another decoder of the same log can continue from a bookmark. A
    // bookmark has no pointers, so it can be kept in a file.
    struct Bookmark {
        uint64_t extent, half; // extents begun, and half-words read from the last one
        uint64_t time, n_records, n_ids; // values at this place
        uint64_t address; // address of the last access
        uint64_t started; // id of the task that started last
        uint32_t codes[format::kInlineCodes];
        uint32_t n_codes;
    };

    // Begins at the thread's checkpoint, if it has one.
    EventDecoder(const ThreadFile &thread, uint32_t index)
        : thread_(thread), first_id_(static_cast<uint64_t>(index) << format::kThreadShift) {
        if (!thread.checkpoint) return;
        const format::CheckpointHead &head = thread.checkpoint.head();
        at_.time = head.time;
        at_.n_ids = head.n_ids;
        at_.address = head.address;
        at_.started = head.started;
        at_.n_codes = head.n_codes;
        for (uint32_t i = 0; i < head.n_codes; i++) at_.codes[i] = thread.checkpoint.code(i);
    }

    // Reads the next record. Returns false at the end of the log or at a problem. A zero word ends an extent. Keeps
    // definitions of inline codes instead of returning them.
    [[gnu::always_inline]] bool next(EventRecord &record) {
        while (read_record(record)) {
            if (__builtin_expect(!(kUnfinished >> record.kind & 1), 1)) {
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
    // Continues from `mark`. Returns false and changes nothing if the log has no such place.
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

    // Calls begin(construct) or end() for each begin or end of a task in a record of kind inline_ops. Stops and returns
    // false if one of them returns false, or if a code has no construct.
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

    Problem problem() const { return what_ ? Problem{thread_.file.path(), offset(), what_} : Problem{}; }
    uint64_t time() const { return at_.time; }
    uint64_t n_records() const { return at_.n_records; }
    uint64_t n_ids() const { return at_.n_ids; } // number of ids that records have given so far
    uint64_t offset() const { return offset_ + sizeof *place_ * static_cast<size_t>(place_ - begin_); } // in the file

private:
    static_assert(format::kEnd == 0 && format::kTime == 1);
    // Kinds whose records give an id, and kinds that next() must finish after read_record().
    static constexpr Kinds kNumbered = kinds(format::kCreate, format::kImplicitBegin, format::kRegionBegin);
    static constexpr Kinds kUnfinished = kinds(format::kInlineCode, format::kRead, format::kWrite, format::kReadNear,
                                               format::kWriteNear, format::kAbsentNear);

    static constexpr auto kForms = [] {
        std::array<format::RecordForm, format::kEventKinds> forms{};
        for (unsigned kind = 0; kind < format::kEventKinds; kind++)
            forms[kind] = format::record_form(static_cast<format::EventKind>(kind));
        return forms;
    }();

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
            if (end_ - place_ < 2) { // a single half-word at the end of an extent holds no record
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
            if (__builtin_expect(end_ - place_ < form.halves, 0)) { // the file ends inside the record
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
    // Sets word 1 of a start in a short form: the id, and the flags kOtherCore and kOtherDomain. Notes the id of any
    // start.
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
    // Turns short forms of accesses into kRead and kWrite.
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
        end_ = place_; // offset() stays at the damage
        return false;
    }

    const ThreadFile &thread_;
    uint64_t first_id_;
    Bookmark at_{}; // `half` is unused: place_ replaces it
    const uint32_t *begin_ = nullptr, *place_ = nullptr, *end_ = nullptr; // half-words of the extent
    uint64_t offset_ = 0; // place of begin_ in the file, bytes
    const char *what_ = nullptr;
};

} // namespace ompass
