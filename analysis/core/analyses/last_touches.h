// SPDX-License-Identifier: Apache-2.0
// The bytes touched so far, as disjoint ranges, each with the moment (slot of RecencyWeights) of its last touch. A
// range is a part of one access that no later access has touched. Computes no distances.
//
// Most accesses touch exactly the bytes of one range. A hash table by the first byte finds that range in one cache
// line. The ordered set of first bytes finds all other overlaps. It changes only when bounds of ranges change.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ordered_keys.h"
#include "zeroed_array.h"

namespace ompass {

// The last touch of one range. Small, because most lookups miss the cache.
struct LastTouch {
    static constexpr uint32_t kLong = ~uint32_t{0} >> 1; // for this length or more, long_ends_ has the end

    uint64_t begin;
    uint32_t slot; // slot of the last touch
    uint32_t invalid : 1; // another cache group has written these bytes since
    uint32_t length : 31; // 0: an unused entry of the table
};
static_assert(sizeof(LastTouch) == 16);

class LastTouches {
public:
    LastTouches() : table_(kFirstEntries) { set_shift(); }

    // Returns the range of exactly these bytes, or null; always null for kLong or more bytes.
    LastTouch *find(uint64_t begin, uint64_t bytes) {
        LastTouch *touch = find(begin);
        return touch && touch->length == bytes && bytes != LastTouch::kLong ? touch : nullptr;
    }
    // Always inlined, because gcc drops calls of functions that only prefetch.
    [[gnu::always_inline]] void prefetch(uint64_t begin) const { __builtin_prefetch(&table_[place_of(begin)], 1); }

    // Calls visit(touch, its begin, its end) for each range that overlaps [begin, end), in order of address. `visit`
    // must not change bounds.
    template <typename Visit>
    void for_each_overlap(uint64_t begin, uint64_t end, Visit visit) {
        for (OrderedKeys::Place place = begins_.floor(begin); place != begins_.end(); place = begins_.next(place)) {
            const uint64_t key = begins_.key(place);
            if (key >= end) return;
            LastTouch &touch = *find(key);
            if (end_of(touch) > begin) visit(touch, key, end_of(touch));
        }
    }

    // Splits the range that contains the bytes before and at `address`, if there is one.
    void cut(uint64_t address) {
        const OrderedKeys::Place place = begins_.floor(address);
        if (place == begins_.end()) return;
        LastTouch &touch = *find(begins_.key(place));
        const uint64_t end = end_of(touch);
        if (touch.begin >= address || end <= address) return;
        const LastTouch lower = touch;
        set_end(touch, address);
        insert(place, address, end, lower.slot, lower.invalid);
    }

    // Adds [begin, end) as a range and returns true, unless another range overlaps it.
    bool add(uint64_t begin, uint64_t end, uint32_t slot) {
        const OrderedKeys::Place below = begins_.floor(begin);
        if (below != begins_.end()) {
            const OrderedKeys::Place next = begins_.key(below) < begin ? begins_.next(below) : below;
            if (next != begins_.end() && begins_.key(next) < end) return false;
            // Most ranges are too short to reach `begin`; longest_ often shows this without a lookup.
            const uint64_t key = begins_.key(below);
            if (next != below && begin - key < longest_ && end_of(*find(key)) > begin) return false;
        }
        insert(below, begin, end, slot, 0);
        return true;
    }

    // Replaces everything in [begin, end) by one range.
    void replace(uint64_t begin, uint64_t end, uint32_t slot) {
        cut(begin);
        cut(end);
        replaced_.clear();
        for_each_overlap(begin, end,
                         [this](const LastTouch &touch, uint64_t, uint64_t) { replaced_.push_back(touch.begin); });
        const bool begins_alike = !replaced_.empty() && replaced_.front() == begin;
        for (size_t k = begins_alike ? 1 : 0; k < replaced_.size(); k++) remove(replaced_[k]);
        if (!begins_alike) return insert(begins_.floor(begin), begin, end, slot, 0);
        LastTouch &touch = *find(begin);
        longest_ = std::max(longest_, end - begin);
        set_end(touch, end);
        touch.slot = slot;
        touch.invalid = 0;
    }

    template <typename NewNumber>
    void rename_slots(NewNumber new_number) {
        for (LastTouch &touch : table_)
            if (touch.length != 0) touch.slot = new_number(touch.slot);
    }

    size_t n_ranges() const { return n_ranges_; }
    size_t memory_bytes() const { return table_.size() * sizeof(LastTouch) + begins_.memory_bytes(); }

private:
    static constexpr size_t kFirstEntries = 1 << 10; // a power of two, like all later sizes

    // Multiplies twice, because one multiplication leaves evenly spaced addresses in clusters.
    size_t place_of(uint64_t begin) const {
        begin *= 0x9e3779b97f4a7c15u;
        return (begin ^ begin >> 32) * 0xbf58476d1ce4e5b9u >> shift_;
    }
    void set_shift() {
        mask_ = table_.size() - 1;
        shift_ = 64 - std::countr_zero(table_.size());
    }

    // Returns the range that begins at `begin`, or null.
    const LastTouch *find(uint64_t begin) const { return const_cast<LastTouches *>(this)->find(begin); }
    LastTouch *find(uint64_t begin) {
        for (size_t i = place_of(begin);; i = (i + 1) & mask_) {
            if (table_[i].length == 0) return nullptr;
            if (table_[i].begin == begin) return &table_[i];
        }
    }

    uint64_t end_of(const LastTouch &touch) const {
        return touch.length != LastTouch::kLong ? touch.begin + touch.length : long_ends_.at(touch.begin);
    }
    void set_end(LastTouch &touch, uint64_t end) {
        if (touch.length == LastTouch::kLong) long_ends_.erase(touch.begin);
        touch.length =
            static_cast<uint32_t>(std::min<uint64_t>(end - touch.begin, LastTouch::kLong)) & LastTouch::kLong;
        if (touch.length == LastTouch::kLong) long_ends_[touch.begin] = end;
    }

    void insert(OrderedKeys::Place below, uint64_t begin, uint64_t end, uint32_t slot, uint32_t invalid) {
        begins_.insert(below, begin);
        if (++n_ranges_ > table_.size() / 3 * 2) grow();
        longest_ = std::max(longest_, end - begin);
        LastTouch touch = {begin, slot, invalid & 1, 0};
        set_end(touch, end);
        place(touch);
    }
    void remove(uint64_t begin) {
        begins_.erase(begin);
        n_ranges_--;
        size_t hole = place_of(begin);
        while (table_[hole].begin != begin || table_[hole].length == 0) hole = (hole + 1) & mask_;
        if (table_[hole].length == LastTouch::kLong) long_ends_.erase(begin);
        // Moves later entries into the hole, unless their search starts after the hole.
        for (size_t i = (hole + 1) & mask_; table_[i].length != 0; i = (i + 1) & mask_) {
            if (((i - place_of(table_[i].begin)) & mask_) < ((i - hole) & mask_)) continue;
            table_[hole] = table_[i];
            hole = i;
        }
        table_[hole] = {};
    }
    void place(const LastTouch &touch) {
        size_t i = place_of(touch.begin);
        while (table_[i].length != 0) i = (i + 1) & mask_;
        table_[i] = touch;
    }
    void grow() {
        ZeroedArray<LastTouch> old(table_.size() * 2);
        std::swap(old, table_);
        set_shift();
        for (const LastTouch &touch : old)
            if (touch.length != 0) place(touch);
    }

    ZeroedArray<LastTouch> table_;
    OrderedKeys begins_;
    std::unordered_map<uint64_t, uint64_t> long_ends_; // by begin, for ranges of kLong or more bytes
    uint64_t longest_ = 0; // upper bound of the lengths of all ranges
    size_t n_ranges_ = 0, mask_ = 0;
    int shift_ = 0;
    std::vector<uint64_t> replaced_; // scratch space of replace()
};

} // namespace ompass
