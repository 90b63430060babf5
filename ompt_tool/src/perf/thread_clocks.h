// SPDX-License-Identifier: Apache-2.0
// The off-CPU time of a thread whose switches the kernel refuses to record. This file computes it from the thread's
// processor-time clock and the kernel's statistics of its waiting. A reading takes some microseconds, so the thread
// reads both only where a region begins or ends, and at most every kStepNanoseconds. The state in which the thread was
// off-CPU is therefore unknown.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "log/kept_file.h"

namespace ompass {

class ThreadClocks {
public:
    // Starts for the thread with the system id `tid`, at the recorded time `now`. Starts again after a pause.
    void begin(uint32_t tid, uint64_t now);
    bool is_used() const { return tid_ != 0; }
    // True if the clocks are used and the last reading is old enough for another one.
    bool is_due(uint64_t now) const { return now >= due_; }
    void end() { waits_.close(); }

    // Returns the thread's off-CPU ticks since the previous reading; 0 if the thread is gone. One thread at a time.
    format::OffCpuTicks take(uint64_t now);
    // Calls take(), returns the ticks in [begin, end), and adds the other ticks to `rest`. Assumes that the thread
    // first ran, then was preempted, and then was blocked until now, as a waiting thread is.
    format::OffCpuTicks take_between(uint64_t begin, uint64_t end, uint64_t now, format::OffCpuTicks &rest);

private:
    struct Reading {
        uint64_t processor_ns = 0, waited_ns = 0; // waited: runnable, but without a processor
        uint64_t left = 0, taken = 0; // voluntary and involuntary switches
    };
    bool read_processor(Reading &reading) const;
    void read_waits(Reading &reading);

    uint32_t tid_ = 0;
    uint64_t time_ = 0; // time of the last reading
    uint64_t due_ = ~uint64_t{0}, step_ = 0;
    Reading last_;
    KeptFile waits_; // schedstat of the thread
};

} // namespace ompass
