// SPDX-License-Identifier: Apache-2.0
// Computes the number of bytes whose last touch is after a given moment. A moment (one access) is a slot. Slots are
// numbered in order of time. The weight of a slot is the number of bytes whose last touch is in it. Knows no addresses.
//
// A tree of sums. Each level is an array. The children of a node share a cache line. The leaves are the weights:
//   levels_[0][i] = sum of weights[i * kLeaves ...];  levels_[k + 1][i] = sum of levels_[k][i * kFanout ...]
// A query sums only nodes before a slot, so a node needs its sum only when its last slot has been appended. Therefore
// an append costs almost nothing, and nodes need no initial value. On each level, a query reads the children of one
// node, and an update writes one of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "zeroed_array.h"

namespace ompass {

class RecencyWeights {
public:
    using Slot = uint32_t;

    RecencyWeights() { resize(kFirstCapacity); }

    bool has_room(uint64_t n) const { return n_slots_ + n <= capacity_; }

    // Appends a moment as slot 0, 1, 2, ... Requires has_room().
    [[gnu::always_inline]] void append(uint64_t bytes) {
        if (bytes >= kHeavy && !heavy()) become_heavy();
        total_ += bytes;
        with_weights([&](auto &weights) { weights[n_slots_] = static_cast<Weight<decltype(weights)>>(bytes); });
        if (++n_slots_ % kLeaves == 0) sum_up_last_nodes();
    }

    // Returns the number of bytes last touched after the slot, and removes `bytes` from the slot.
    [[gnu::always_inline]] uint64_t touch_again(Slot slot, uint64_t bytes) {
        uint64_t older = 0; // including the slot
        with_weights([&](auto &weights) {
            const uint64_t place = slot % kLeaves;
            older = weights[slot] + sum_before<kLeaves>(&weights[slot - place], place);
            weights[slot] -= static_cast<Weight<decltype(weights)>>(bytes);
        });
        Lanes<uint64_t> sums = {0, 0};
        uint64_t node = slot / kLeaves;
        for (ZeroedArray<uint64_t> &level : levels_) {
            const uint64_t place = node % kFanout;
            sums += lanes_before<kFanout>(&level[node - place], place);
            level[node] -= bytes; // nodes without a sum yet are overwritten later
            node /= kFanout;
        }
        const uint64_t newer = total_ - (older + sums[0] + sums[1]);
        total_ -= bytes;
        return newer;
    }

    [[gnu::always_inline]] void prefetch(Slot slot) const { // higher levels stay in cache
        __builtin_prefetch(heavy() ? static_cast<const void *>(&heavy_weights_[slot]) : &light_weights_[slot], 1);
        __builtin_prefetch(&levels_[0][slot / kLeaves], 1);
    }

    // Removes the slots of weight 0. Makes room for n more slots, and for at least three times the remaining slots, so
    // the cost per append is constant. Calls rename(new_number, n_used) once, so the caller can renumber its slots.
    // new_number(slot) is defined for slots of weight above 0.
    template <typename Rename>
    void compact(uint64_t n, Rename rename) {
        std::vector<uint64_t> used((n_slots_ + 63) / 64);
        std::vector<Slot> before(used.size());
        uint64_t n_used = 0;
        with_weights([&](auto &weights) { // moves used weights to the front
            for (uint64_t i = 0; i < n_slots_; i++) {
                if (i % 64 == 0) before[i / 64] = static_cast<Slot>(n_used);
                const auto weight = weights[i];
                used[i / 64] |= static_cast<uint64_t>(weight != 0) << i % 64;
                weights[n_used] = weight;
                n_used += weight != 0;
            }
        });
        const auto new_number = [&](Slot slot) {
            return before[slot / 64] +
                   static_cast<Slot>(std::popcount(used[slot / 64] & ((uint64_t{1} << slot % 64) - 1)));
        };
        rename(new_number, static_cast<Slot>(n_used));
        n_slots_ = n_used;
        if (const uint64_t wanted = std::max(n_used, n) * kRoom; wanted > capacity_) resize(wanted);
        with_weights([&](const auto &weights) {
            for (uint64_t i = 0; i < n_slots_ / kLeaves; i++) levels_[0][i] = sum_of<kLeaves>(&weights[i * kLeaves]);
        });
        uint64_t n_done = n_slots_ / kLeaves;
        for (size_t k = 1; k < levels_.size(); k++) {
            n_done /= kFanout;
            for (uint64_t i = 0; i < n_done; i++) levels_[k][i] = sum_of<kFanout>(&levels_[k - 1][i * kFanout]);
        }
    }

    size_t memory_bytes() const {
        size_t bytes = light_weights_.bytes() + heavy_weights_.bytes();
        for (const ZeroedArray<uint64_t> &level : levels_) bytes += level.bytes();
        return bytes;
    }

private:
    static constexpr uint64_t kLeaves = 16, kFanout = 8; // children of a node: one cache line
    static constexpr uint64_t kFirstCapacity = 1 << 12;
    static constexpr uint64_t kRoom = 4;
    static constexpr uint64_t kHeavy = (uint64_t{1} << 32) / kLeaves; // a node of lighter slots has a sum below 2^32

    template <typename Weights>
    using Weight = std::remove_reference_t<decltype(std::declval<Weights>()[0])>;

    // Values that one instruction adds. Every supported processor has registers of 16 bytes.
    template <typename T>
    using Lanes [[gnu::vector_size(16)]] = T;

    // kLeaves words of ones, then as many zeros. The words from kBefore + kLeaves - p on mask the first p children.
    // Adding masked values is faster than a loop of unpredictable length.
    template <typename T>
    static constexpr auto kBefore = [] {
        std::array<T, 2 * kLeaves> mask = {};
        for (uint64_t i = 0; i < kLeaves; i++) mask[i] = static_cast<T>(~T{0});
        return mask;
    }();
    template <uint64_t n, typename T>
    [[gnu::always_inline]] static Lanes<T> lanes_before(const T *node, uint64_t place) {
        const T *before = kBefore<T>.data() + (kLeaves - place);
        constexpr uint64_t kLanes = sizeof(Lanes<T>) / sizeof(T);
        return [&]<uint64_t... i>(std::integer_sequence<uint64_t, i...>) {
            return ((lanes(node + i * kLanes) & lanes(before + i * kLanes)) + ...);
        }(std::make_integer_sequence<uint64_t, n / kLanes>());
    }
    template <uint64_t n, typename T>
    [[gnu::always_inline]] static uint64_t sum_before(const T *node, uint64_t place) {
        const Lanes<T> sums = lanes_before<n>(node, place);
        T sum = 0;
        for (size_t i = 0; i < sizeof sums / sizeof sum; i++) sum += sums[i];
        return sum;
    }
    template <typename T>
    [[gnu::always_inline]] static Lanes<T> lanes(const T *values) {
        Lanes<T> lanes;
        std::memcpy(&lanes, values, sizeof lanes);
        return lanes;
    }
    template <uint64_t n, typename T>
    static uint64_t sum_of(const T *values) {
        return std::accumulate(values, values + n, uint64_t{0});
    }

    // Computes the sums of the nodes that end with the newest slot.
    void sum_up_last_nodes() {
        uint64_t n_done = n_slots_ / kLeaves;
        with_weights([&](auto &weights) { levels_[0][n_done - 1] = sum_of<kLeaves>(&weights[n_slots_ - kLeaves]); });
        for (size_t k = 1; k < levels_.size() && n_done % kFanout == 0; k++) {
            n_done /= kFanout;
            levels_[k][n_done - 1] = sum_of<kFanout>(&levels_[k - 1][(n_done - 1) * kFanout]);
        }
    }

    // True once a weight has reached kHeavy. Then every weight takes eight bytes; before, four.
    bool heavy() const { return heavy_weights_.size() > 0; }
    template <typename Use>
    [[gnu::always_inline]] void with_weights(Use use) {
        if (heavy())
            use(heavy_weights_);
        else
            use(light_weights_);
    }
    void become_heavy() {
        heavy_weights_ = ZeroedArray<uint64_t>(light_weights_.size());
        std::copy(light_weights_.begin(), light_weights_.end(), heavy_weights_.begin());
        light_weights_ = {};
    }

    // Resizes to whole nodes on all levels, because queries read whole nodes. Keeps the weights, but not the sums.
    void resize(uint64_t wanted) {
        uint64_t n_nodes = (std::max(wanted, kFirstCapacity) + kLeaves - 1) / kLeaves;
        capacity_ = n_nodes * kLeaves;
        with_weights([&](auto &weights) {
            std::remove_reference_t<decltype(weights)> larger(capacity_);
            std::copy_n(weights.begin(), n_slots_, larger.begin());
            weights = std::move(larger);
        });
        levels_.clear();
        do {
            n_nodes = (n_nodes + kFanout - 1) / kFanout * kFanout;
            levels_.emplace_back(n_nodes);
            n_nodes /= kFanout;
        } while (n_nodes > 1);
    }

    uint64_t capacity_ = 0, n_slots_ = 0;
    uint64_t total_ = 0; // the weight of all slots
    ZeroedArray<uint32_t> light_weights_;
    ZeroedArray<uint64_t> heavy_weights_;
    std::vector<ZeroedArray<uint64_t>> levels_;
};

} // namespace ompass
