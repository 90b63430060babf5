// SPDX-License-Identifier: Apache-2.0
// When a thread was on no processor: an interval from a switch out to the next one in, preempted or blocked. Makes them of
// the records of processor_ring.h, hands them out in order of time, cut where the caller's state intervals are, and writes each
// into the trace. To which state and construct they are charged is the accounting's matter (state_intervals.h).
//
// Records make a switch some 2 us dearer. Where they come by the thousand, as of threads that yield to each other because
// there are more of them than processors, that would change what is measured: then the records end, and the thread's
// processor-time clock, read where a state interval ends, tells how long it was off-CPU since the reading before.
#pragma once

#include <atomic>

#include "log/thread_log.h"
#include "perf/processor_ring.h"

namespace ompass {

class OffCpuIntervals {
public:
    // Begins for the calling thread, with the records of `begun` if that is open. False, with errno: the kernel refuses,
    // and there will be none.
    bool open(ProcessorRing &begun, uint32_t tid);
    bool open(uint32_t tid);
    void close();
    bool is_open() const { return ring_.is_open() || by_clock_; }

    // Two numbers that differ while there may be off-CPU intervals to be taken: page()->data_head and data_tail. Never null.
    const volatile perf_event_mmap_page *page() const { return by_clock_ ? &busy_page : ring_.page(); }

    bool by_clock() const { return by_clock_; } // for want of records
    // Is there nothing to be told of a state interval that ends there, since the clock was read a moment ago?
    bool can_wait(uint64_t end) const { return end < waits_until_; }
    uint64_t clock_ticks(uint64_t now) const { // for so long it was
        return clock_ticks_ + (by_clock_ && now > by_clock_since_ ? now - by_clock_since_ : 0);
    }

    // What lies before `end` of the off-CPU intervals not taken yet, which it takes. `end` may not decrease, or what lies before the
    // last one is not told again. Each goes to `log`, if that is not null, as far as it is taken.
    format::OffCpuTicks take_until(uint64_t end, ThreadLog *log);

    format::OffCpuTicks taken() const { return taken_; } // the sum of all that was taken

    uint64_t n_lost() const { return n_lost_; } // records of switches that found no room

    // For any thread, once recording has ended: what lies in [begin, end), an off-CPU interval that lasts included.
    format::OffCpuTicks look_between(uint64_t begin, uint64_t end) const;

private:
    struct Interval {
        uint64_t begin, end;
        bool blocked, guessed;
    };

    bool load(uint64_t end); // the next off-CPU interval into next_; false when there is none
    void read_records();
    bool guess(); // what records that were lost would have told
    bool ask_clock(uint64_t end); // what there are no records of, because they are dear
    void place_before(uint64_t now, uint64_t missing, uint64_t blocked);
    void read_clocks(uint64_t processor_ns);
    void consider_clock(); // in place of records, or the other way round
    void begin_by_clock();
    void count_switches();
    void end_by_clock();

    static perf_event_mmap_page busy_page;

    ProcessorRing ring_;
    uint32_t tid_ = 0;
    Interval next_ = {}; // being handed out, while end != 0
    Interval guessed_ = {}; // comes after it
    bool left_ = false; // a switch out was read, and the switch in was not:
    bool left_blocked_ = false;
    uint64_t left_time_ = 0;
    format::OffCpuTicks taken_ = {};
    uint64_t known_ = 0; // end of the last off-CPU interval read
    uint64_t asked_until_ = 0; // by take_until()
    uint64_t n_lost_ = 0;

    // Readings of the clock and of the time that the thread was on a processor, and what was off-CPU since then.
    uint64_t monotonic_ns_ = 0, processor_ns_ = 0;
    format::OffCpuTicks since_ = {};

    mutable std::atomic<bool> held_{false}; // who holds it may open, close or look into the ring
    bool by_clock_ = false;
    uint64_t by_clock_since_ = 0, clock_ticks_ = 0;
    uint64_t asks_at_ = 0; // reads the clock for a state interval that ends then or later
    uint64_t waits_until_ = 0; // the same while that is all there may be to tell; else 0
    uint64_t n_switches_ = 0; // since that was considered last
    uint64_t considered_ns_ = 0;
    uint64_t patience_ns_ = 0; // before records are tried again
    struct Switches {
        uint64_t left, taken; // by itself, and not, since the thread began
    } switches_ = {};
};

} // namespace ompass
