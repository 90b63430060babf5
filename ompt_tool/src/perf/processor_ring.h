// SPDX-License-Identifier: Apache-2.0
// The kernel's records of a thread's switches out of a processor and back in. The software event that delivers these
// records counts nothing, and needs neither hardware nor privilege. off_cpu_intervals.h uses the records.
#pragma once

#include <cstdint>

#include "perf/perf_ring.h"
#include "process/clock.h"

namespace ompass {

class ProcessorRing {
public:
    enum class Kind : uint8_t { kPreempted, kBlocked, kReturned, kLost };
    struct Record {
        Kind kind; // kind of switch, or kLost
        uint64_t time; // recorded time in ticks; kLost: 0
        uint64_t n; // kLost: number of lost records
    };

    // Starts recording the calling thread. Returns false and sets errno if the kernel refuses; the ring stays closed.
    bool open();
    // Takes over a ring of the calling thread, and leaves `other` closed.
    void take_over(ProcessorRing &other) { ring_.swap(other.ring_); }
    void close() { ring_.close(); }
    void forget_after_fork() { ring_.forget_after_fork(); }
    bool is_open() const { return ring_.is_open(); }

    // data_head and data_tail of this page differ while there are records to read. Never null.
    const volatile perf_event_mmap_page *page() const { return ring_.page(); }

    // Takes the next record. Returns false if there is none, or if has_overflown(). Owner only. Until release(), a
    // taken record stays in the ring, and page() shows it as unread.
    bool next(Record &record);
    // True if the ring was full, and records may be missing after the last taken one. forgive() continues after the
    // loss.
    bool has_overflown() const { return overflown_ && next_ >= known_head_; }
    void forgive() { overflown_ = false; }
    void release() { ring_.release(next_); }
    // Releases all taken records but the last.
    void release_but_last() { ring_.release(last_); }

    // Calls visit(record) for every record of a switch, and takes none. Any thread may call it. If the owner takes
    // records meanwhile, their values may be wrong.
    template <typename Visit>
    void peek(Visit visit) const {
        const clock::Reading now = clock::read_both();
        for (uint64_t place = ring_.tail(), head = ring_.head(); place < head;) {
            Record record;
            const uint64_t bytes = read(place, head, now, record);
            if (bytes == 0) return;
            if (record.kind != Kind::kLost) visit(record);
            place += bytes;
        }
    }

private:
    // Reads the record at `place`, with its time relative to `now`. Returns its length; 0: there is none.
    uint64_t read(uint64_t place, uint64_t head, const clock::Reading &now, Record &record) const;

    PerfRing ring_;
    uint64_t next_ = 0, last_ = 0; // place of the next record and of the last one taken
    uint64_t known_head_ = 0; // end of the records known so far
    bool overflown_ = false; // true if there was no room after known_head_
    clock::Reading now_ = {}; // read together with known_head_
};

} // namespace ompass
