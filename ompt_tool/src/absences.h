// SPDX-License-Identifier: Apache-2.0
// When a thread was on no processor: an interval from a switch out to the next one in, preempted or blocked. Makes them of
// the records of processor_ring.h, hands them out in order of time, cut where the caller's stretches are, and writes each
// into the trace. To which state and construct they are charged is the accounting's matter (stretches.h).
#pragma once

#include "processor_ring.h"
#include "thread_log.h"

namespace ompass {

class Absences {
public:
    // Begins for the calling thread, with the records of `begun` if that is open. False, with errno: the kernel refuses,
    // and there will be none.
    bool open(ProcessorRing &&begun = {});
    void close() { ring_.close(); }

    const ProcessorRing &ring() const { return ring_; }

    // What lies before `end` of the absences not taken yet, which it takes. `end` may not decrease, or what lies before the
    // last one is not told again. New ones go to `log`, if that is not null.
    format::AbsentTicks take_until(uint64_t end, ThreadLog *log);

    format::AbsentTicks told() const { return told_; } // the sum of all that was taken

    uint64_t n_lost() const { return n_lost_; } // records of switches that found no room

    // For any thread, once recording has ended: what lies in [begin, end), an absence that lasts included.
    format::AbsentTicks look_between(uint64_t begin, uint64_t end) const;

private:
    struct Interval {
        uint64_t begin, end;
        bool blocked;
    };

    bool load(ThreadLog *log); // the next absence into next_; false when there is none
    bool guess(); // what records that were lost would have told
    void read_clocks();

    ProcessorRing ring_;
    Interval next_ = {}; // being handed out, while end != 0
    Interval guessed_ = {}; // comes after it
    bool left_ = false; // a switch out was read, and the switch in was not:
    bool left_blocked_ = false;
    uint64_t left_time_ = 0;
    format::AbsentTicks told_ = {};
    uint64_t known_ = 0; // end of the last absence read
    uint64_t n_lost_ = 0;

    // Readings of the clock and of the time that the thread was on a processor, and what was absent since then.
    uint64_t monotonic_ns_ = 0, processor_ns_ = 0;
    format::AbsentTicks since_ = {};
};

} // namespace ompass
