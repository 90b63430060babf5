// SPDX-License-Identifier: Apache-2.0
// For how long a thread was on no processor, where the kernel does not let it record its switches: from its processor-time
// clock, and the kernel's statistics of its waiting. A reading takes some microseconds, so there is one where a region
// begins or ends, and no telling in which state the thread was. Who reads when is the accounting's matter.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "log/kept_file.h"

namespace ompass {

class ThreadClocks {
public:
    // Begins with the thread of this system id, at the recorded time `now`.
    void begin(uint32_t tid, uint64_t now);
    bool is_used() const { return tid_ != 0; }
    void end() { waits_.close(); } // the thread asks no more

    // How long the thread was off-CPU since the reading before, in ticks; 0 when it is no more. One thread at a time may ask.
    format::OffCpuTicks take(uint64_t now);
    // The same in two parts: what lies in [begin, end) when the thread ran first, was preempted then, and blocked until now,
    // as one does that waits; and, added to `rest`, the others.
    format::OffCpuTicks take_between(uint64_t begin, uint64_t end, uint64_t now, format::OffCpuTicks &rest);

private:
    struct Reading {
        uint64_t processor_ns = 0, waited_ns = 0; // waited: for a processor, although it could have run
        uint64_t left = 0, taken = 0; // switches: by itself, and not
    };
    bool read_processor(Reading &reading) const;
    void read_waits(Reading &reading);

    uint32_t tid_ = 0;
    uint64_t time_ = 0;
    Reading last_;
    KeptFile waits_; // schedstat of the thread
};

} // namespace ompass
