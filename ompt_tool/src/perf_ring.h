// SPDX-License-Identifier: Apache-2.0
// A ring into which the kernel writes records of one thread, and from which that thread reads them (perf_event_open(2)).
// Owns the event, the mapping and the order of memory; what the records mean is their readers' matter.
//
// No descriptor stays open, since the mapping alone keeps the event: a program that closes or counts descriptors meets none
// of ours. The mapping is not inherited by the child of a fork, and the event counts no other thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <linux/perf_event.h>

namespace ompass {

class PerfRing {
public:
    PerfRing() = default;
    PerfRing(const PerfRing &) = delete;
    PerfRing &operator=(const PerfRing &) = delete;

    // Begins the event for the calling thread, with a ring of `pages` pages (a power of two) or, where the kernel allows
    // no more, fewer, down to `least`. Returns 0 or what the kernel said (errno); the ring then stays closed.
    int open(const perf_event_attr &event, size_t pages, size_t least);
    void close();
    bool is_open() const { return size_ != 0; }

    // data_head and data_tail of this page differ while there are records. Never null.
    const volatile perf_event_mmap_page *page() const { return page_; }

    // The next record, copied to `to` with room for `most` words, and its length in words; 0: there is none. A longer one
    // is cut. It stays in the ring until next().
    size_t look(uint64_t *to, size_t most);
    void next();

    bool
    has_room(size_t bytes) const; // for records of the kernel; else some may be missing behind those that are there

private:
    static perf_event_mmap_page quiet_page; // of a ring that is closed

    perf_event_mmap_page *page_ = &quiet_page;
    size_t size_ = 0; // of the records' part, a power of two
    uint64_t tail_ = 0; // bytes read since it was opened
    uint64_t length_ = 0; // of the record looked at
};

} // namespace ompass
