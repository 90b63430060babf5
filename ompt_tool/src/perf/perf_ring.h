// SPDX-License-Identifier: Apache-2.0
// A ring into which the kernel writes records of one thread, and from which that thread reads them
// (perf_event_open(2)). Owns the event, the mapping and the memory order; readers give the records their meaning.
//
// The mapping alone keeps the event alive, so no descriptor stays open that the program could close or count. The child
// of a fork does not inherit the mapping, and the event counts no other thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <linux/perf_event.h>

namespace ompass {

class PerfRing {
public:
    PerfRing() = default;
    PerfRing(const PerfRing &) = delete;
    PerfRing &operator=(const PerfRing &) = delete;
    // Exchanges two rings of the calling thread.
    void swap(PerfRing &other) {
        std::swap(page_, other.page_);
        std::swap(size_, other.size_);
    }

    // Starts the event for the calling thread, with a ring of `pages` pages (a power of two). If the kernel allows no
    // ring of that size, halves it, down to `least`. Returns 0, or an error if the ring stays closed: errno, or
    // format::kRefusedBySandbox.
    int open(const perf_event_attr &event, size_t pages, size_t least);
    // Uses `page` and the `bytes` of records after it, in the kernel's layout; for tests. close() unmaps them.
    void open_on(perf_event_mmap_page *page, size_t bytes) { page_ = page, size_ = bytes; }
    void close(); // ends the event
    void forget_after_fork(); // called in the child, which lacks the mapping
    bool is_open() const { return size_ != 0; }
    size_t pages() const; // length of the ring

    // data_head and data_tail of this page differ while there are records. Never null.
    const volatile perf_event_mmap_page *page() const { return page_; }

    // Records are between tail and head, in bytes since the ring was opened. release() frees the records before
    // `place`; owner only.
    uint64_t head() const { return __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE); }
    uint64_t tail() const { return page_->data_tail; }
    void release(uint64_t place) {
        if (is_open()) __atomic_store_n(&page_->data_tail, place, __ATOMIC_RELEASE);
    }
    // Returns the word at `place` of an open ring.
    uint64_t word(uint64_t place) const {
        const char *records = reinterpret_cast<const char *>(page_) + page_->data_offset;
        return __atomic_load_n(reinterpret_cast<const uint64_t *>(records + (place & (size_ - 1))), __ATOMIC_RELAXED);
    }
    // Returns the length of the record at `place`; 0: there is no whole record between `place` and `head`.
    uint64_t length(uint64_t place, uint64_t head) const;
    // True if the kernel had room for a record of `bytes` after `head`. Otherwise records may be missing there.
    bool has_room(size_t bytes, uint64_t head) const { return size_ - (head - tail()) >= bytes; }

private:
    static perf_event_mmap_page quiet_page; // control page of closed rings

    perf_event_mmap_page *page_ = &quiet_page;
    size_t size_ = 0; // bytes for records, a power of two
};

} // namespace ompass
