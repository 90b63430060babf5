// SPDX-License-Identifier: Apache-2.0
// The off-CPU intervals of a thread. Each lasts from a switch out to the next switch in, and is preempted or blocked.
// This file builds the intervals from the records of processor_ring.h, returns them in order of time, cuts them at the
// caller's state intervals, and writes them into the trace. state_intervals.h adds them to states and constructs.
//
// Records add some 2 us to a switch. That is too much for a thread that switches thousands of times a second, for
// example if threads yield to each other on one processor. Such a thread stops its records. Instead, it reads its
// processor-time clock at the end of state intervals. The clock shows its off-CPU time since the previous reading.
#pragma once

#include <atomic>

#include "log/thread_log.h"
#include "perf/processor_ring.h"

namespace ompass {

class OffCpuIntervals {
public:
    // Starts for the calling thread, with the records of `begun` if that ring is open. Returns false and sets errno if
    // the kernel refuses.
    bool open(ProcessorRing &begun, uint32_t tid);
    bool open(uint32_t tid);
    void close();
    // Counts the thread as blocked from `begin`, before its creation, until it first ran. Has no effect once off-CPU
    // time has been taken.
    void note_creation_after(uint64_t begin);
    bool is_open() const { return ring_.is_open() || by_clock_; }

    // data_head and data_tail of this page differ while there may be off-CPU intervals to take. Never null.
    const volatile perf_event_mmap_page *page() const { return by_clock_ ? &busy_page : ring_.page(); }

    bool by_clock() const { return by_clock_; } // the clock replaces records
    // True if a state interval that ends at `end` has nothing to take, because the clock was read a moment ago.
    bool can_wait(uint64_t end) const { return end < waits_until_; }
    uint64_t clock_ticks(uint64_t now) const { // returns the total time in which the clock replaced records
        const bool is_counted = by_clock_ && !paused_;
        return clock_ticks_ + (is_counted && now > by_clock_since_ ? now - by_clock_since_ : 0);
    }
    // Replaces the records by the clock during one state interval, in which the thread may switch very often.
    // clock_ticks() excludes this time. Owner only. Has no effect while an off-CPU interval is left to take.
    void pause_records();
    void resume_records();

    // Discards off-CPU time since the last reading of the clocks. Called at the end of a pause of the recording.
    void forget_pause();

    // Takes the off-CPU time before `end` that is not taken yet, and writes it to `log` unless `log` is null. `end` may
    // be earlier than in the last call.
    format::OffCpuTicks take_until(uint64_t end, ThreadLog *log);

    format::OffCpuTicks taken() const { return taken_; } // in total

    uint64_t n_lost() const { return n_lost_; } // records of switches lost because the ring was full

    // Returns the off-CPU time in [begin, end), including an interval that is still open. Any thread may call it after
    // recording has ended.
    format::OffCpuTicks look_between(uint64_t begin, uint64_t end) const;

private:
    struct Interval {
        uint64_t begin, end;
        bool blocked, guessed;
    };

    bool load(uint64_t end); // loads the next interval into next_; false if there is none
    void read_records();
    bool guess(); // replaces lost records
    bool ask_clock(uint64_t end); // replaces records while they are switched off
    void place_before(uint64_t now, uint64_t missing, uint64_t blocked);
    void read_clocks(uint64_t processor_ns);
    void choose_source(); // switches between records and clock
    void begin_by_clock();
    void count_switches();
    void end_by_clock();

    static perf_event_mmap_page busy_page;

    ProcessorRing ring_;
    uint32_t tid_ = 0;
    Interval next_ = {}; // the interval being taken; end == 0: none
    Interval guessed_ = {}; // the guessed interval after next_; end == 0: none
    bool left_ = false; // a switch out was read, but not the switch in
    bool left_blocked_ = false;
    uint64_t left_time_ = 0;
    format::OffCpuTicks taken_ = {};
    uint64_t ran_since_ = 0; // time of open() minus the thread's processor time until then
    uint64_t known_ = 0; // time up to which records or clocks have been read
    uint64_t asked_until_ = 0; // end of the time that take_until() has taken
    uint64_t n_lost_ = 0;

    // The last readings of the clock and of the thread's processor time, and the off-CPU time since then.
    uint64_t monotonic_ns_ = 0, processor_ns_ = 0;
    format::OffCpuTicks since_ = {};

    mutable std::atomic<bool> held_{false}; // the holder may open, close or read the ring
    bool by_clock_ = false;
    bool paused_ = false; // by_clock_ is true because of pause_records()
    uint64_t by_clock_since_ = 0, clock_ticks_ = 0;
    uint64_t asks_at_ = 0; // time from which the end of a state interval reads the clock
    uint64_t waits_until_ = 0; // asks_at_ if the clock replaces records and no interval is left to take; else 0
    uint64_t n_switches_ = 0; // switches since the last decision of choose_source()
    uint64_t chosen_ns_ = 0;
    uint64_t patience_ns_ = 0; // time until records are tried again
    struct Switches {
        uint64_t left, taken; // voluntary and involuntary switches since the thread began
    } switches_ = {};
};

} // namespace ompass
