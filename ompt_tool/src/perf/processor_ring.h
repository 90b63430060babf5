// SPDX-License-Identifier: Apache-2.0
// The kernel's records of one thread: when it was switched out of a processor, and in again. A software event that counts
// nothing, so that it needs no hardware and no privilege. Who makes what of its records is off_cpu_intervals.h's matter.
#pragma once

#include <cstdint>

#include "perf/perf_ring.h"
#include "process/clock.h"

namespace ompass {

class ProcessorRing {
public:
    enum class Kind : uint8_t { kPreempted, kBlocked, kReturned, kLost };
    struct Record {
        Kind kind; // of the switches that end its time on a processor and begin it
        uint64_t time; // recorded time in ticks; of kLost: 0
        uint64_t n; // of kLost: how many records found no room
    };

    // Begins the records of the calling thread. False, with errno: the kernel refuses; a ring without records is left.
    bool open();
    // Goes on with those of another ring of the calling thread, and leaves it closed.
    void take_over(ProcessorRing &other) { ring_.swap(other.ring_); }
    void close() { ring_.close(); }
    void forget_after_fork() { ring_.forget_after_fork(); }
    bool is_open() const { return ring_.is_open(); }

    // Two numbers that differ while there are records to be read: page()->data_head and data_tail. Never null.
    const volatile perf_event_mmap_page *page() const { return ring_.page(); }

    // Takes the next record; false when there is none, or has_overflown(). By the thread itself. What was taken keeps its
    // room, and page() shows it as unread, until release().
    bool next(Record &record);
    // After the record that was taken last there was no room: some may be missing. Those after them come when that is
    // forgiven.
    bool has_overflown() const { return overflown_ && next_ >= known_head_; }
    void forgive() { overflown_ = false; }
    void release() { ring_.release(next_); }
    // Like release(), but for the record that was taken last.
    void release_but_last() { ring_.release(last_); }

    // From any thread, without taking anything: calls visit(record) for every record that is there. What the owner takes
    // meanwhile may be seen wrong.
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
    // Reads the record at `place`. Returns its length; 0: there is none. `now`: to which its time is related.
    uint64_t read(uint64_t place, uint64_t head, const clock::Reading &now, Record &record) const;

    PerfRing ring_;
    uint64_t next_ = 0, last_ = 0; // place of the next record and of the last one taken
    uint64_t known_head_ = 0; // records up to here are there
    bool overflown_ = false; // there was no room after known_head_
    clock::Reading now_ = {}; // read when known_head_ was
};

} // namespace ompass
