// SPDX-License-Identifier: Apache-2.0
// thread-NNNNN.log: one thread's header, statistics slots and, in trace mode, events. Written by that thread alone.
#pragma once

#include <cstdint>
#include <string>

#include "format.h"
#include "log_file.h"

namespace ompass {

class ThreadLog {
public:
    void create(const std::string &directory, uint32_t index, uint32_t tid, uint64_t now, bool trace);

    format::ThreadHeader &header() { return *header_; }

    // The statistics of construct `id` on this thread, made at the first call. Never null: without memory or beyond
    // the last slot it is a place that all such constructs share and that no reader sees.
    void *slot(uint32_t id) {
        const uint32_t extent = id / format::kSlotsPerExtent;
        if (__builtin_expect(extent < kMaxSlotExtents && slots_[extent] != nullptr, 1))
            return slots_[extent] + id % format::kSlotsPerExtent * format::kSlotBytes;
        return make_slots(id);
    }

    bool tracing() const { return limit_ != nullptr; }

    // Appends a record; `now` of a timed one must not lie before that of the last timed one.
    void untimed(format::EventKind kind, uint32_t argument) {
        if (uint64_t *place = reserve(1)) store(place, format::pack_event(kind, argument, 0));
    }
    void untimed(format::EventKind kind, uint32_t argument, uint64_t word1) {
        if (uint64_t *place = reserve(2)) place[1] = word1, store(place, format::pack_event(kind, argument, 0));
    }
    void untimed(format::EventKind kind, uint32_t argument, uint64_t word1, uint64_t word2) {
        if (uint64_t *place = reserve(3))
            place[1] = word1, place[2] = word2, store(place, format::pack_event(kind, argument, 0));
    }
    void timed(format::EventKind kind, uint32_t argument, uint64_t now) {
        const uint64_t delta = delta_to(now);
        if (uint64_t *place = reserve(1)) store(place, format::pack_event(kind, argument, delta));
    }
    void timed(format::EventKind kind, uint32_t argument, uint64_t now, uint64_t word1) {
        const uint64_t delta = delta_to(now);
        if (uint64_t *place = reserve(2)) place[1] = word1, store(place, format::pack_event(kind, argument, delta));
    }
    void timed(format::EventKind kind, uint32_t argument, uint64_t now, uint64_t word1, uint64_t word2) {
        const uint64_t delta = delta_to(now);
        if (uint64_t *place = reserve(3))
            place[1] = word1, place[2] = word2, store(place, format::pack_event(kind, argument, delta));
    }

    // If the last record is `from`, turns it into `to` and answers true: begin and end of a leaf in one word.
    bool replace_last(format::EventKind from, format::EventKind to) {
        if (last_ == nullptr || format::event_kind(*last_) != from) return false;
        store(last_, (*last_ & ~uint64_t{63}) | to);
        return true;
    }

    void stop_tracing(); // what is written stays; further records are counted as dropped

private:
    static constexpr uint32_t kMaxSlotExtents = 2048;

    static void store(uint64_t *place, uint64_t word) { __atomic_store_n(place, word, __ATOMIC_RELEASE); }

    // Room for `words` words; null when not tracing or full.
    uint64_t *reserve(unsigned words) {
        if (__builtin_expect(next_ + words > limit_, 0) && !refill()) return nullptr;
        last_ = next_;
        next_ += words;
        return last_;
    }
    uint64_t delta_to(uint64_t now) {
        uint64_t delta = now - base_;
        if (__builtin_expect(delta >> 32, 0)) delta = write_time(now);
        base_ += delta;
        return delta;
    }
    uint64_t write_time(uint64_t now);
    bool refill();
    void *make_slots(uint32_t id);

    uint64_t *next_ = nullptr;  // place of the next record
    uint64_t *limit_ = nullptr; // end of the extent, less one word that stays zero; null when not tracing
    uint64_t *last_ = nullptr;  // the last record
    uint64_t base_ = 0;         // time of the last timed record
    format::ThreadHeader *header_ = nullptr;
    void *extent_ = nullptr;
    size_t extent_bytes_ = 0;
    uint64_t n_extents_ = 0;
    bool dropping_ = false;
    LogFile file_;
    char *slots_[kMaxSlotExtents] = {};
};

} // namespace ompass
