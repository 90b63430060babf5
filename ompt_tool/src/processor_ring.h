// SPDX-License-Identifier: Apache-2.0
// The kernel's records of one thread: when it was switched out of a processor, and in again. The only file that knows
// perf_event_open. A software event that counts nothing, so that it needs no hardware and no privilege; its records go
// into a ring that the kernel writes and the thread reads. Who makes what of them is absences.h's.
//
// No descriptor stays open, since the mapping alone keeps the event: a program that closes or counts descriptors meets none
// of ours. The mapping is not inherited by the child of a fork, and the event counts no other thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <linux/perf_event.h>

namespace ompass {

class ProcessorRing {
public:
    enum class Kind : uint8_t { kPreempted, kBlocked, kReturned, kLost };
    struct Record {
        Kind kind; // of the switches that end its time on a processor and begin it
        uint64_t time; // recorded time in ticks; of kLost: 0
        uint64_t n; // of kLost: how many records found no room
    };

    ProcessorRing() = default;
    ProcessorRing(const ProcessorRing &) = delete;
    ProcessorRing &operator=(ProcessorRing &&other); // both must be of the calling thread, and this one not open

    // Begins the records of the calling thread. False, with errno: the kernel refuses; a ring without records is left.
    bool open();
    void close();
    void forget_after_fork() { page_ = &quiet_page, size_ = 0; } // in the child, which has not the mapping
    bool is_open() const { return size_ != 0; }

    // Two numbers that differ while there are records to be read: page()->data_head and data_tail. Never null.
    const volatile perf_event_mmap_page *page() const { return page_; }

    // Takes the next record; false when there is none, or has_overflown(). By the thread itself. What was taken keeps its
    // room, and page() shows it as unread, until release().
    bool next(Record &record);
    // After the record that was taken last there was no room: some may be missing. Those after them come when that is
    // forgiven.
    bool has_overflown() const { return overflown_ && next_ >= known_head_; }
    void forgive() { overflown_ = false; }
    void release();
    // Like release(), but for the record that was taken last.
    void release_but_last();

    // From any thread, without taking anything: calls visit(record) for every record that is there. What the owner takes
    // meanwhile may be seen wrong.
    template <typename Visit>
    void peek(Visit visit) const {
        Time time = now();
        for (uint64_t place = tail(), head = this->head(); place < head;) {
            Record record;
            const uint64_t bytes = read(place, head, time, record);
            if (bytes == 0) return;
            if (record.kind != Kind::kLost) visit(record);
            place += bytes;
        }
    }

private:
    // A reading of both clocks, to which times of records are converted.
    struct Time {
        uint64_t counter, monotonic_ns;
    };
    static Time now();
    static uint64_t to_recorded(const Time &now, uint64_t monotonic_ns);

    uint64_t head() const;
    uint64_t tail() const { return page_->data_tail; }
    uint64_t word(uint64_t place) const;
    // Reads the record at `place`. Returns its length; 0: there is none.
    uint64_t read(uint64_t place, uint64_t head, const Time &time, Record &record) const;

    static perf_event_mmap_page quiet_page; // of rings that are not open

    perf_event_mmap_page *page_ = &quiet_page;
    size_t size_ = 0; // of the records' room, a power of two; 0: not open
    uint64_t next_ = 0, last_ = 0; // place of the next record and of the last one taken
    uint64_t known_head_ = 0; // records up to here are there
    bool overflown_ = false; // there was no room after known_head_
    Time time_ = {}; // read when known_head_ was
};

} // namespace ompass
