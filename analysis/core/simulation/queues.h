// SPDX-License-Identifier: Apache-2.0
// Containers of the engine (queues of tasks, sets of small numbers, the order of threads by time), and random numbers.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ompass::simulation {

// A double-ended queue in a ring buffer, the oldest task first.
class TaskQueue {
public:
    uint32_t size() const { return size_; }
    uint32_t operator[](uint32_t i) const { return ring_[(first_ + i) & (ring_.size() - 1)]; }
    void push(uint32_t task) {
        if (size_ == ring_.size()) grow();
        ring_[(first_ + size_++) & (ring_.size() - 1)] = task;
    }
    uint32_t take(uint32_t i) { // the i-th oldest
        const uint32_t task = (*this)[i];
        if (i == 0) {
            first_ = static_cast<uint32_t>((first_ + 1) & (ring_.size() - 1));
        } else {
            for (uint32_t k = i; k + 1 < size_; k++) ring_[(first_ + k) & (ring_.size() - 1)] = (*this)[k + 1];
        }
        size_--;
        return task;
    }

private:
    void grow() {
        std::vector<uint32_t> larger(ring_.size() * 2);
        for (uint32_t i = 0; i < size_; i++) larger[i] = (*this)[i];
        ring_.swap(larger);
        first_ = 0;
    }

    std::vector<uint32_t> ring_ = std::vector<uint32_t>(16);
    uint32_t first_ = 0, size_ = 0;
};

// A set of numbers below a limit. All operations except find() take constant time.
class NumberSet {
public:
    explicit NumberSet(uint32_t limit = 0) : place_(limit, kAbsent) {}
    bool empty() const { return members_.empty(); }
    uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
    uint32_t operator[](uint32_t i) const { return members_[i]; }
    bool contains(uint32_t number) const { return place_[number] != kAbsent; }
    // Searches n_members members, cyclically from `place` on. Returns the first that suits; ~0u: none.
    template <typename Suits>
    uint32_t find(uint32_t place, uint32_t n_members, Suits suits) const {
        for (; n_members; n_members--) {
            if (suits(members_[place])) return members_[place];
            if (++place == members_.size()) place = 0;
        }
        return kAbsent;
    }
    void add(uint32_t number) {
        if (contains(number)) return;
        place_[number] = size();
        members_.push_back(number);
    }
    void remove(uint32_t number) {
        if (!contains(number)) return;
        const uint32_t place = place_[number];
        members_[place] = members_.back();
        place_[members_[place]] = place;
        members_.pop_back();
        place_[number] = kAbsent;
    }

private:
    static constexpr uint32_t kAbsent = ~0u;
    std::vector<uint32_t> members_, place_;
};

// Finds the thread with the earliest next event; among equals, the thread with the lowest number. A tournament tree:
// each node has the smallest key of each of the four nodes below it. Updates are fast, because the tree has few levels,
// and only one of the four keys that a level compares depends on the level below.
class NextThread {
public:
    static constexpr unsigned kThreadBits = 13, kEventBits = 3;
    static constexpr uint64_t kNever = ~uint64_t{0}, kLastTime = kNever >> (kThreadBits + kEventBits); // ns, three days

    explicit NextThread(uint32_t n_threads) {
        while (kFour * n_lowest_ < n_threads) n_lowest_ *= kFour;
        uint32_t n_fours = 0;
        for (uint32_t n = n_lowest_; n; n /= kFour) n_fours += n;
        fours_.resize(n_fours);
    }
    void set(uint32_t thread, uint64_t time, uint32_t event) {
        put(thread, (time << kThreadBits | thread) << kEventBits | event);
    }
    void stop(uint32_t thread) { put(thread, kNever); }
    bool none() const { return earliest_ == kNever; }
    uint32_t thread() const { return static_cast<uint32_t>(earliest_ >> kEventBits) & ((1u << kThreadBits) - 1); }
    uint32_t event() const { return static_cast<uint32_t>(earliest_) & ((1u << kEventBits) - 1); }

private:
    static constexpr uint32_t kFour = 4;
    struct alignas(32) Four {
        uint64_t keys[kFour] = {kNever, kNever, kNever, kNever};
    };

    // Compiles without a branch, because a branch on times would be unpredictable.
    static uint64_t less(uint64_t one, uint64_t other) { return one < other ? one : other; }
    void put(uint32_t place, uint64_t key) {
        Four *level = fours_.data();
        for (uint32_t n = n_lowest_; n; level += n, n /= kFour, place /= kFour) {
            uint64_t *const keys = level[place / kFour].keys;
            const uint32_t own = place % kFour;
            keys[own] = key;
            key = less(key, less(keys[own ^ 1], less(keys[own ^ 2], keys[own ^ 3])));
        }
        earliest_ = key;
    }

    uint32_t n_lowest_ = 1; // groups of four threads; a power of four
    std::vector<Four> fours_; // groups of four threads, then of four groups, and so on
    uint64_t earliest_ = kNever;
};

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {
        if (state_ == 0) state_ = 1;
        ahead_ = draw();
    }
    uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1dull;
    }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
    // Returns an exponentially distributed number above 0 with mean 1. The previous call has drawn it, so the caller
    // does not wait for the logarithm.
    double exponential() {
        const double drawn = ahead_;
        ahead_ = draw();
        return drawn;
    }

private:
    // Returns minus the logarithm of a random number in (0, 1], from a table of logarithms.
    double draw() {
        const uint64_t bits = next() | 1;
        const auto n_zeros = static_cast<unsigned>(std::countl_zero(bits));
        const uint64_t fraction = bits << n_zeros << 1; // the number is (1 + fraction / 2^64) / 2^(n_zeros + 1)
        const auto i = static_cast<size_t>(fraction >> (64 - kLogBits));
        const double rest = static_cast<double>(fraction << kLogBits >> 11) * 0x1p-53;
        return (n_zeros + 1) * kLog2 - (kLogarithms[i] + rest * (kLogarithms[i + 1] - kLogarithms[i]));
    }

    static constexpr unsigned kLogBits = 8;
    static constexpr double kLog2 = 0.693147180559945309417;
    using Logarithms = std::array<double, (1 << kLogBits) + 1>; // [i] is the logarithm of 1 + i / 2^kLogBits
    static inline const Logarithms kLogarithms = [] {
        Logarithms table;
        for (size_t i = 0; i < table.size(); i++) table[i] = std::log1p(std::ldexp(static_cast<double>(i), -8));
        return table;
    }();
    uint64_t state_;
    double ahead_; // the next exponential()
};

} // namespace ompass::simulation
