// SPDX-License-Identifier: Apache-2.0
// Which bytes of the address space have been touched, and by which moment (slot of RecencyWeights) last: disjoint
// ranges, each the part of one access that no later access has touched. Computes no distance.
//
// A hash table by the first byte finds a range that is touched again just as it was before, the common case, in one
// cache line; the ordered set of first bytes finds what overlaps otherwise, and changes only when the cuts do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "ordered_keys.h"
#include "zeroed_array.h"

namespace ompass {

struct alignas(32) TouchedRange {
    uint64_t begin;
    uint64_t end;          // 0: an unused entry of the table
    uint32_t slot;         // of the last touch
    uint32_t invalid;      // 1: another cache group has written these bytes since
};

class LastTouches {
public:
    LastTouches() : table_(kFirstEntries) { set_shift(); }

    // The range that begins just there, or null.
    const TouchedRange *find(uint64_t begin) const { return const_cast<LastTouches *>(this)->find(begin); }
    TouchedRange *find(uint64_t begin) {
        for (size_t i = place_of(begin);; i = (i + 1) & mask_) {
            if (table_[i].end == 0) return nullptr;
            if (table_[i].begin == begin) return &table_[i];
        }
    }
    // Inlined by force: gcc takes a function that only prefetches for one without effect, and drops the call.
    [[gnu::always_inline]] void prefetch(uint64_t begin) const { __builtin_prefetch(&table_[place_of(begin)], 1); }

    // Calls visit(range) for every range that overlaps [begin, end), in order of address. The visit changes no cuts.
    template <typename Visit>
    void for_each_overlap(uint64_t begin, uint64_t end, Visit visit) {
        for (OrderedKeys::Place place = begins_.floor(begin); place != begins_.end(); place = begins_.next(place)) {
            const uint64_t key = begins_.key(place);
            if (key >= end) return;
            TouchedRange &range = *find(key);
            if (range.end > begin) visit(range);
        }
    }

    // Is any of these bytes covered?
    bool overlaps(uint64_t begin, uint64_t end) const {
        OrderedKeys::Place place = begins_.floor(begin);
        if (place == begins_.end()) return false;
        if (find(begins_.key(place))->end <= begin) place = begins_.next(place);
        return place != begins_.end() && begins_.key(place) < end;
    }

    // Makes `address` a border between ranges, if it is inside of one.
    void cut(uint64_t address) {
        const OrderedKeys::Place place = begins_.floor(address);
        if (place == begins_.end()) return;
        TouchedRange &range = *find(begins_.key(place));
        if (range.begin >= address || range.end <= address) return;
        const TouchedRange upper = {address, range.end, range.slot, range.invalid};
        range.end = address;
        add(upper);
    }

    // The bytes [range.begin, range.end) must not be covered.
    void add(const TouchedRange &range) {
        begins_.insert(range.begin);
        if (++n_ranges_ > table_.size() / 3 * 2) grow();
        place(range);
    }

    void remove(uint64_t begin) {
        begins_.erase(begin);
        n_ranges_--;
        size_t hole = place_of(begin);
        while (table_[hole].begin != begin || table_[hole].end == 0) hole = (hole + 1) & mask_;
        // Entries behind the hole move up, unless they would come before the place where their search starts.
        for (size_t i = (hole + 1) & mask_; table_[i].end != 0; i = (i + 1) & mask_) {
            if (((i - place_of(table_[i].begin)) & mask_) < ((i - hole) & mask_)) continue;
            table_[hole] = table_[i];
            hole = i;
        }
        table_[hole] = {};
    }

    template <typename NewNumber>
    void rename_slots(NewNumber new_number) {
        for (TouchedRange &range : table_)
            if (range.end != 0) range.slot = new_number(range.slot);
    }

    size_t n_ranges() const { return n_ranges_; }
    size_t memory_bytes() const { return table_.size() * sizeof(TouchedRange) + begins_.memory_bytes(); }

private:
    static constexpr size_t kFirstEntries = 1 << 10; // a power of two, like all later sizes

    // Two rounds: a single multiplication leaves addresses at regular distances in clusters.
    size_t place_of(uint64_t begin) const {
        begin *= 0x9e3779b97f4a7c15u;
        return (begin ^ begin >> 32) * 0xbf58476d1ce4e5b9u >> shift_;
    }
    void set_shift() {
        mask_ = table_.size() - 1;
        shift_ = 64 - std::countr_zero(table_.size());
    }
    void place(const TouchedRange &range) {
        size_t i = place_of(range.begin);
        while (table_[i].end != 0) i = (i + 1) & mask_;
        table_[i] = range;
    }
    void grow() {
        ZeroedArray<TouchedRange> old(table_.size() * 2);
        std::swap(old, table_);
        set_shift();
        for (const TouchedRange &range : old)
            if (range.end != 0) place(range);
    }

    ZeroedArray<TouchedRange> table_;
    OrderedKeys begins_;
    size_t n_ranges_ = 0, mask_ = 0;
    int shift_ = 0;
};

} // namespace ompass
