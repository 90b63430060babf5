// SPDX-License-Identifier: Apache-2.0
// Order statistics over time: how many bytes were touched after a given moment, for the last touch of every byte.
// A moment (one access) is a slot; slots are numbered in order of time, and the weight of a slot is the bytes whose last
// touch it is. Owns nothing of where the bytes lie.
//
// A tree of sums with kFanout children per node, level by level in arrays; the leaves are the slots:
//   levels_[0][s] = bytes last touched at slot s;  levels_[k + 1][i] = sum of levels_[k][i * kFanout ... + kFanout - 1]
// Only what lies before a slot is ever summed up, so a sum is made when the last slot of its node is: a new moment costs
// next to nothing, and nothing need be zero at first. A query reads, and an update writes, one node per level.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "zeroed_array.h"

namespace ompass {

class RecencyWeights {
public:
    using Slot = uint32_t;

    RecencyWeights() { resize(kFirstCapacity); }

    bool has_room(uint64_t n) const { return n_slots_ + n <= capacity_; }

    // A new moment, later than all others: slot 0, 1, 2, ... Needs room: compact first.
    void append(uint64_t bytes) {
        total_ += bytes;
        levels_[0][n_slots_] = bytes;
        uint64_t n_done = ++n_slots_;
        for (size_t k = 1; k < levels_.size() && n_done % kFanout == 0; k++) {
            n_done /= kFanout;
            levels_[k][n_done - 1] = sum_of(&levels_[k - 1][(n_done - 1) * kFanout]);
        }
    }

    // Bytes whose last touch is later than the slot's. Then `bytes` of the slot have been touched again.
    uint64_t newer_and_take(Slot slot, uint64_t bytes) {
        uint64_t sum = levels_[0][slot], node = slot;
        for (ZeroedArray<uint64_t> &level : levels_) {
            sum += sum_before(&level[node - node % kFanout], node % kFanout);
            level[node] -= bytes; // also of nodes that are not summed up yet: they will be set
            node /= kFanout;
        }
        const uint64_t newer = total_ - sum;
        total_ -= bytes;
        return newer;
    }

    [[gnu::always_inline]] void prefetch(Slot slot) const {
        for (size_t k = 0; k < 3; k++) { // the levels above are small and stay in cache
            __builtin_prefetch(&levels_[k][slot], 1);
            slot /= kFanout;
        }
    }

    // Renumbers the slots without those of weight 0 and makes room for three times as many moments as remain, and as n,
    // so that the cost is constant per append. rename(new_number, n_used) is called once; it must rename every
    // slot that the caller keeps. new_number(slot) is valid for slots of weight above 0 and only during the call.
    template <typename Rename>
    void compact(uint64_t n, Rename rename) {
        std::vector<uint64_t> used((n_slots_ + 63) / 64);
        std::vector<Slot> before(used.size());
        uint64_t n_used = 0;
        for (uint64_t word = 0; word < used.size(); word++) {
            before[word] = static_cast<Slot>(n_used);
            for (uint64_t i = word * 64; i < n_slots_ && i < word * 64 + 64; i++)
                used[word] |= static_cast<uint64_t>(levels_[0][i] != 0) << i % 64;
            n_used += static_cast<uint64_t>(std::popcount(used[word]));
        }
        const auto new_number = [&](Slot slot) {
            return before[slot / 64] +
                   static_cast<Slot>(std::popcount(used[slot / 64] & ((uint64_t{1} << slot % 64) - 1)));
        };
        rename(new_number, static_cast<Slot>(n_used));
        const uint64_t wanted = std::max(n_used, n) * kRoom;
        if (wanted > capacity_) {
            const ZeroedArray<uint64_t> old = std::move(levels_[0]);
            resize(wanted);
            pack(old, n_slots_);
        } else {
            pack(levels_[0], n_slots_);
        }
        n_slots_ = n_used;
        uint64_t n_done = n_slots_;
        for (size_t k = 1; k < levels_.size(); k++) {
            n_done /= kFanout;
            for (uint64_t i = 0; i < n_done; i++) levels_[k][i] = sum_of(&levels_[k - 1][i * kFanout]);
        }
    }

    size_t memory_bytes() const {
        size_t bytes = 0;
        for (const ZeroedArray<uint64_t> &level : levels_) bytes += level.size() * sizeof(uint64_t);
        return bytes;
    }

private:
    static constexpr uint64_t kFanout = 8; // the children of a node are one cache line
    static constexpr uint64_t kFirstCapacity = 1 << 12;
    static constexpr uint64_t kRoom = 4;
    // Read from kBefore + kFanout - p on: all ones for the children before place p, zeros from it on. Adding what is
    // masked is faster than a loop whose length nobody can predict.
    static constexpr uint64_t kNo = 0, kYes = ~uint64_t{0};
    static constexpr uint64_t kBefore[2 * kFanout] = {kYes, kYes, kYes, kYes, kYes, kYes, kYes, kYes,
                                                      kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo};

    // Moves the slots of weight above 0 to the front of levels_[0], where they may come from.
    void pack(const ZeroedArray<uint64_t> &from, uint64_t n) {
        uint64_t n_used = 0;
        for (uint64_t i = 0; i < n; i++) {
            levels_[0][n_used] = from[i];
            n_used += from[i] != 0;
        }
    }
    static uint64_t sum_of(const uint64_t *node) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < kFanout; i++) sum += node[i];
        return sum;
    }
    static uint64_t sum_before(const uint64_t *node, uint64_t place) {
        const uint64_t *before = kBefore + (kFanout - place);
        uint64_t sum = 0, odd_sum = 0;
        for (uint64_t i = 0; i < kFanout; i += 2) {
            sum += node[i] & before[i];
            odd_sum += node[i + 1] & before[i + 1];
        }
        return sum + odd_sum;
    }

    void resize(uint64_t wanted) {
        capacity_ = std::max(wanted, kFirstCapacity);
        levels_.clear();
        uint64_t n_nodes = capacity_;
        do {
            n_nodes = (n_nodes + kFanout - 1) / kFanout * kFanout; // whole nodes: a query reads to the end of one
            levels_.emplace_back(n_nodes);
            n_nodes /= kFanout;
        } while (n_nodes > 1);
    }

    uint64_t capacity_ = 0, n_slots_ = 0;
    uint64_t total_ = 0; // the weight of all slots
    std::vector<ZeroedArray<uint64_t>> levels_;
};

} // namespace ompass
