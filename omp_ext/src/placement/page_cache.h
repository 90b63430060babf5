// SPDX-License-Identifier: Apache-2.0
// A table of fixed size that maps pages to domains. Any thread uses it without a lock. placement.cpp asks the system
// where pages are.
//
// Each page maps to one slot, and a newer page replaces an older one there. An entry is valid for kLifetime_s, because
// the system may move pages and programs may unmap them unnoticed. The API calls forget() after it moves pages. A
// thread that asked the system in the meantime finds a changed version and removes its entry.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace omp_ext {

class PageCache {
public:
    static constexpr unsigned kSlotBits = 15; // 32768 pages, 256 KiB
    static constexpr uint32_t kLifetime_s = 10;
    static constexpr int kUnknown = -1;

    // Returns the domain of the page, or kUnknown. `now_s`: seconds of a clock that never goes back.
    int find(uintptr_t page, uint32_t now_s) const {
        const uint64_t entry = slots_[slot_of(page)].load(std::memory_order_relaxed);
        const bool holds = entry >> kTagShift == tag_of(page) &&
                           ((now_s - static_cast<uint32_t>(entry >> kTimeShift)) & kTimeMask) < kLifetime_s;
        return holds ? static_cast<int>(entry & kDomainMask) - 1 : kUnknown;
    }

    // Returns the version, which the caller reads before it asks the system and passes to store().
    uint64_t version() const { return version_.load(std::memory_order_seq_cst); }

    void store(uintptr_t page, int domain, uint32_t now_s, uint64_t version) {
        std::atomic<uint64_t> &slot = slots_[slot_of(page)];
        uint64_t entry = tag_of(page) << kTagShift | static_cast<uint64_t>(now_s & kTimeMask) << kTimeShift |
                         static_cast<uint64_t>(domain + 1);
        slot.store(entry, std::memory_order_seq_cst);
        // Either this thread sees the new version, or the forgetting thread sees the entry.
        if (version_.load(std::memory_order_seq_cst) != version) slot.compare_exchange_strong(entry, 0);
    }

    // Forgets the pages from `first` to `end` - 1, which have moved or vanished.
    void forget(uintptr_t first, uintptr_t end) {
        version_.fetch_add(1, std::memory_order_seq_cst);
        if (end - first >= slots_.size()) {
            for (std::atomic<uint64_t> &slot : slots_) slot.store(0, std::memory_order_seq_cst);
            return;
        }
        for (uintptr_t page = first; page < end; page++) {
            std::atomic<uint64_t> &slot = slots_[slot_of(page)];
            uint64_t entry = slot.load(std::memory_order_seq_cst);
            if (entry >> kTagShift == tag_of(page)) slot.compare_exchange_strong(entry, 0);
        }
    }
    void forget_all() { forget(0, slots_.size()); }

private:
    // entry = tag << 28 | second << 12 | domain + 1; 0: empty; the low bits of an entry are never 0
    static constexpr unsigned kTimeShift = 12, kTagShift = 28;
    static constexpr uint64_t kDomainMask = (1u << kTimeShift) - 1;
    static constexpr uint32_t kTimeMask = (1u << (kTagShift - kTimeShift)) - 1;

    static uint64_t tag_of(uintptr_t page) { return page >> kSlotBits; }
    // Mixes the tag in, so that arrays whose addresses differ by a power of two do not share slots. Tag and slot
    // together identify the page.
    static size_t slot_of(uintptr_t page) {
        return (page ^ (tag_of(page) * 0x9E37'79B9'7F4A'7C15u) >> 32) & ((size_t{1} << kSlotBits) - 1);
    }

    std::array<std::atomic<uint64_t>, size_t{1} << kSlotBits> slots_{};
    std::atomic<uint64_t> version_{0}; // counts calls of forget()
};

} // namespace omp_ext
