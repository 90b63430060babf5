// SPDX-License-Identifier: Apache-2.0
// A work-stealing deque (Chase and Lev, SPAA 2005; memory orders after Le et al., PPoPP 2013), for pointers with a tag.
//
// Contract: only the owner, one thread at a time, calls push, pop, newest_tag and bottom. Any thread calls steal
// and size_hint. Exactly one pop or steal returns each pushed item: pop takes the newest item, steal the oldest. push
// numbers items from 0; the newest has the number bottom() - 1. Only the destructor frees memory. So a late thief at
// worst reads an outdated item, and then loses the race for `top_`.
//
// Invariants: top_ never decreases; size = bottom_ - top_ >= 0, except inside pop, where it is at least -1.
// Tests pass their own atomics as the second template argument, to choose the interleaving.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omp_ext {

enum class StealResult { kTaken, kEmpty, kRefused, kLost };

template <typename T, template <typename> class Atomic = std::atomic>
class Deque {
public:
    explicit Deque(int64_t capacity = 256) : ring_(new Ring(capacity, nullptr)) {}
    ~Deque() {
        for (Ring *ring = ring_.load(std::memory_order_relaxed); ring;) {
            Ring *older = ring->older;
            delete ring;
            ring = older;
        }
    }
    Deque(const Deque &) = delete;
    Deque &operator=(const Deque &) = delete;

    // Owner. Adds an item. Its address must not be null, and the upper 16 bits of the address must be 0.
    [[gnu::always_inline]] void push(T *item, uint16_t tag) {
        const int64_t bottom = bottom_.load(std::memory_order_relaxed);
        const int64_t top = top_.load(std::memory_order_acquire);
        Ring *ring = ring_.load(std::memory_order_relaxed);
        if (__builtin_expect(bottom - top >= ring->capacity, 0)) ring = grow(ring, top, bottom);
        ring->slot(bottom).store(pack(item, tag), std::memory_order_relaxed);
        bottom_.store(bottom + 1, std::memory_order_release);
    }

    // Owner. Takes the newest item. Returns null if there is none, or if the number of the newest is below `mark`.
    T *pop(int64_t mark) {
        const int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
        if (bottom < mark || bottom < top_.load(std::memory_order_relaxed)) return nullptr;
        Ring *ring = ring_.load(std::memory_order_relaxed);
        // Sequentially consistent, like a thief's loads. So if one item is left, the owner sees the thief's top_, or
        // the thief sees this bottom_.
        bottom_.store(bottom, std::memory_order_seq_cst);
        int64_t top = top_.load(std::memory_order_seq_cst);
        if (top > bottom) { // thieves took all items
            bottom_.store(bottom + 1, std::memory_order_relaxed);
            return nullptr;
        }
        T *item = unpack(ring->slot(bottom).load(std::memory_order_relaxed));
        if (top < bottom) return item;
        const bool won =
            top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
        bottom_.store(bottom + 1, std::memory_order_relaxed);
        return won ? item : nullptr;
    }

    // Any thread. Moves the oldest item into *into. Refuses an item whose tag is below min_tag. kLost: another thread
    // took the item first.
    StealResult steal(T **into, uint16_t min_tag = 0) {
        int64_t top = top_.load(std::memory_order_seq_cst);
        const int64_t bottom = bottom_.load(std::memory_order_seq_cst);
        if (top >= bottom) return StealResult::kEmpty;
        Ring *ring = ring_.load(std::memory_order_acquire);
        const uint64_t word = ring->slot(top).load(std::memory_order_relaxed);
        if (static_cast<uint16_t>(word >> 48) < min_tag) return StealResult::kRefused;
        if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
            return StealResult::kLost;
        *into = unpack(word);
        return StealResult::kTaken;
    }

    // Owner. Returns the tag of the newest item, or -1 if there is none.
    int newest_tag() const {
        const int64_t newest = bottom_.load(std::memory_order_relaxed) - 1;
        if (newest < top_.load(std::memory_order_relaxed)) return -1;
        Ring *ring = ring_.load(std::memory_order_relaxed);
        return static_cast<int>(ring->slot(newest).load(std::memory_order_relaxed) >> 48);
    }

    // Owner. Returns the number of the next item to be pushed.
    int64_t bottom() const { return bottom_.load(std::memory_order_relaxed); }

    // Any thread. Returns the number of items at some moment during the call.
    int64_t size_hint() const {
        const int64_t size = bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
        return size > 0 ? size : 0;
    }

private:
    struct Ring {
        Ring(int64_t n, Ring *before)
            : capacity(n), older(before), slots(new Atomic<uint64_t>[static_cast<size_t>(n)]) {}
        ~Ring() { delete[] slots; }
        Ring(const Ring &) = delete;
        Ring &operator=(const Ring &) = delete;
        Atomic<uint64_t> &slot(int64_t number) { return slots[number & (capacity - 1)]; }
        const int64_t capacity; // a power of two
        Ring *const older; // kept for thieves that still read it
        Atomic<uint64_t> *const slots;
    };

    static uint64_t pack(T *item, uint16_t tag) {
        return reinterpret_cast<uintptr_t>(item) | static_cast<uint64_t>(tag) << 48;
    }
    static T *unpack(uint64_t word) { return reinterpret_cast<T *>(word & ((uint64_t{1} << 48) - 1)); }

    [[gnu::noinline]] Ring *grow(Ring *ring, int64_t top, int64_t bottom) {
        auto *wider = new Ring(ring->capacity * 2, ring);
        for (int64_t i = top; i < bottom; i++)
            wider->slot(i).store(ring->slot(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        ring_.store(wider, std::memory_order_release);
        return wider;
    }

    alignas(64) Atomic<int64_t> top_{0}; // written by thieves and, for the last item, by the owner
    alignas(64) Atomic<int64_t> bottom_{0}; // owner
    Atomic<Ring *> ring_; // owner
};

} // namespace omp_ext
